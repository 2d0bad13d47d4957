//! What the stack must know about the device that carries its packets.

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The largest packet on the wire, in octets.
    pub mtu: u16,
    /// Whether it computes checksums, cuts large packets (TSO) and delivers large ones (GRO).
    pub offload: bool,
    /// Octets before a packet that the device needs for itself.
    pub headroom: usize,
}

impl Abilities {
    /// Returns those of a device that carries packets of up to `mtu` octets and does nothing else.
    #[must_use]
    pub const fn plain(mtu: u16) -> Self {
        Self {
            mtu,
            offload: false,
            headroom: 0,
        }
    }

    /// Returns the largest packet that passes between stack and device, in octets.
    #[must_use]
    pub fn largest_packet(&self) -> usize {
        match self.offload {
            true => u16::MAX.into(),
            false => self.mtu.into(),
        }
    }
}

/// What is left to the device for a packet: always the TCP checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The octets of the IP header.
    pub ip_header: u16,
    /// The octets of all headers.
    pub headers: u16,
    /// The octets of the pieces into which to cut the payload; 0 to leave it whole.
    pub segment: u16,
    /// Whether the packet is IPv6.
    pub ipv6: bool,
}
