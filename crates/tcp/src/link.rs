//! What the stack must know of the device that carries its packets.

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The largest packet on the wire, in octets.
    pub mtu: u16,
    /// Whether it computes checksums and cuts large packets (TSO), and hands over large ones (GRO).
    pub offload: bool,
    /// Octets in front of a packet that the device needs for itself.
    pub headroom: usize,
}

impl Abilities {
    /// Returns the largest packet that passes between stack and device, in octets.
    #[must_use]
    pub fn largest_packet(&self) -> usize {
        match self.offload {
            true => u16::MAX.into(),
            false => self.mtu.into(),
        }
    }
}

/// What is left to the device with a packet: the TCP checksum always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Octets of the IP header.
    pub ip_header: u16,
    /// Octets of all headers.
    pub headers: u16,
    /// Cut the payload into pieces of so many octets; 0 if it is to stay whole.
    pub segment: u16,
    /// IPv6.
    pub ipv6: bool,
}
