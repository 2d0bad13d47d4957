//! From a captured frame to the facts of one TCP segment.
//!
//! Hand-written because it runs once per frame of captures of any size: no allocation, no copies,
//! snapped frames welcome. The tests hold it against `etherparse`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::capture::{Frame, LinkType};
use crate::options::{self, Options};

pub use crate::options::Timestamps;
pub use tinygram_engine::Flags;

/// What one TCP segment says, as far as the snapped frame shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Who sent it.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// Sequence number of the first byte of payload (or of SYN or FIN).
    pub seq: u32,
    /// Acknowledgement number; meaningful if [`Flags::ACK`] is set.
    pub ack: u32,
    /// The flag bits.
    pub flags: Flags,
    /// Window field, not scaled.
    pub window: u16,
    /// Payload bytes on the wire, by the IP header; not what the snap length left of them.
    pub payload: u32,
    /// Options that were captured.
    pub options: Options,
}

/// An address and a port. IPv4 is kept as its IPv6-mapped form, so that both compare alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The address in network order, upper half.
    pub high: u64,
    /// The address in network order, lower half.
    pub low: u64,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    #[inline]
    pub(crate) fn v4(octets: [u8; 4], port: u16) -> Self {
        Self {
            high: 0,
            low: V4_MAPPED | u64::from(u32::from_be_bytes(octets)),
            port,
        }
    }

    #[inline]
    pub(crate) fn v6(octets: [u8; 16], port: u16) -> Self {
        Self {
            high: be64(&octets, 0),
            low: be64(&octets, 8),
            port,
        }
    }

    #[inline]
    pub(crate) fn v4_octets(&self) -> [u8; 4] {
        (self.low as u32).to_be_bytes()
    }

    /// As IPv6 writes the address.
    #[inline]
    pub(crate) fn v6_octets(&self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }

    /// Whether the address is one of IPv4.
    #[must_use]
    #[inline]
    pub const fn is_ipv4(&self) -> bool {
        self.high == 0 && self.low >> 32 == V4_MAPPED >> 32
    }

    /// The address as IP writes it.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        let bits = u128::from(self.high) << 64 | u128::from(self.low);
        Ipv6Addr::from_bits(bits).to_canonical()
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        match address.ip() {
            IpAddr::V4(ip) => Self::v4(ip.octets(), address.port()),
            IpAddr::V6(ip) => Self::v6(ip.octets(), address.port()),
        }
    }
}

impl From<Endpoint> for SocketAddr {
    fn from(endpoint: Endpoint) -> Self {
        Self::new(endpoint.address(), endpoint.port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

/// The TCP segment in a frame, or `None` if there is none or its header was snapped away.
///
/// Fragments are skipped: only the first carries the header, and what it says of the length is
/// not true of the segment.
#[inline]
#[must_use]
pub fn segment(frame: &Frame<'_>) -> Option<Segment> {
    let ip = network_header(frame.link, frame.data)?;
    let packet = frame.data.get(ip..)?;
    let on_wire = (frame.wire_len as usize).saturating_sub(ip);
    match packet.first()? >> 4 {
        4 => ipv4(packet, on_wire),
        6 => ipv6(packet, on_wire),
        _ => None,
    }
}

/// Where the IP header begins.
#[inline]
fn network_header(link: LinkType, data: &[u8]) -> Option<usize> {
    match link {
        LinkType::ETHERNET => behind_ether_type(data, 12),
        LinkType::LINUX_SLL => behind_ether_type(data, 14),
        LinkType::LINUX_SLL2 => match be16(data, 0)? {
            IPV4 | IPV6 => Some(20),
            _ => None,
        },
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => Some(0),
        // The family's number differs between systems; the version nibble behind it does not.
        LinkType::NULL | LinkType::LOOP => Some(4),
        _ => None,
    }
}

/// Steps over VLAN tags (802.1Q, QinQ) and a PPPoE session header.
#[inline]
fn behind_ether_type(data: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..4 {
        match be16(data, at)? {
            IPV4 | IPV6 => return Some(at + 2),
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            // PPPoE: six bytes of header, then the PPP protocol, which is no EtherType.
            0x8864 => {
                return match be16(data, at + 8)? {
                    0x0021 | 0x0057 => Some(at + 10),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
    None
}

#[inline]
fn ipv4(packet: &[u8], on_wire: usize) -> Option<Segment> {
    if packet.len() < 20 || packet[9] != TCP || be16(packet, 6)? & 0x3fff != 0 {
        return None;
    }
    let header = usize::from(packet[0] & 0x0f) * 4;
    // Segmentation offload hands over frames whose total length does not fit or is not filled in.
    let total = match usize::from(be16(packet, 2)?) {
        0 => on_wire,
        total => total,
    };
    tcp(
        packet.get(header..)?,
        total.checked_sub(header)?,
        |source, port| {
            let at = if source { 12 } else { 16 };
            Endpoint::v4(
                [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]],
                port,
            )
        },
    )
}

#[inline]
fn ipv6(packet: &[u8], on_wire: usize) -> Option<Segment> {
    if packet.len() < 40 {
        return None;
    }
    // BIG TCP: a jumbo payload is announced by zero.
    let payload = match usize::from(be16(packet, 4)?) {
        0 => on_wire.checked_sub(40)?,
        payload => payload,
    };
    let mut next = packet[6];
    let mut at = 40;
    for _ in 0..8 {
        match next {
            TCP => {
                return tcp(
                    packet.get(at..)?,
                    (40 + payload).checked_sub(at)?,
                    |source, port| {
                        let from = if source { 8 } else { 24 };
                        Endpoint {
                            high: be64(packet, from),
                            low: be64(packet, from + 8),
                            port,
                        }
                    },
                );
            }
            // Hop-by-hop, routing and destination options.
            0 | 43 | 60 => {
                next = *packet.get(at)?;
                at += 8 + usize::from(*packet.get(at + 1)?) * 8;
            }
            _ => return None,
        }
    }
    None
}

#[inline]
fn tcp(header: &[u8], on_wire: usize, endpoint: impl Fn(bool, u16) -> Endpoint) -> Option<Segment> {
    // Up to the window: what a 54-byte snap of Ethernet and IPv4 leaves.
    if header.len() < 16 {
        return None;
    }
    let length = usize::from(header[12] >> 4) * 4;
    if length < 20 {
        return None;
    }
    let flags = Flags::from_bits(header[13]);
    let options = header.get(20..length.min(header.len())).unwrap_or_default();
    Some(Segment {
        source: endpoint(true, be16(header, 0)?),
        destination: endpoint(false, be16(header, 2)?),
        seq: be32(header, 4),
        ack: be32(header, 8),
        flags,
        window: be16(header, 14)?,
        payload: u32::try_from(on_wire.checked_sub(length)?).ok()?,
        options: options::read_all(options),
    })
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// The caller has checked that the bytes are there.
#[inline]
fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The caller has checked that the bytes are there.
#[inline]
fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

/// How IPv6 writes an IPv4 address: `::ffff:a.b.c.d` (RFC 4291, section 2.5.5.2), lower half.
const V4_MAPPED: u64 = 0xffff_0000_0000;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
