//! Reads the TCP segment in an IP packet that arrived whole.
//!
//! This is stricter than [`crate::decode`], which reads truncated frames: lengths must agree, the
//! checksums must be right, and a packet that fails a check is refused as a whole.

use tinygram_engine::{Flags, Offset, Segment, Span};

use crate::checksum::{Sum, pseudo_header};
use crate::endpoint::Endpoint;
use crate::options::{self, Options};
use crate::sequence::Numbering;

/// A TCP header's fields as on the wire, without the ports and without computed fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number; 0 if [`Flags::ACK`] is not set.
    pub ack: u32,
    /// The control bits that matter for a connection, and whether the packet had a congestion mark;
    /// URG is in [`Packet::urgent`].
    pub flags: Flags,
    /// The window field, not scaled.
    pub window: u16,
    /// The options.
    pub options: Options,
}

/// A TCP segment that arrived whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// The segment's header.
    pub header: Header,
    /// The urgent pointer, if URG says that it means something: the number of octets from the
    /// sequence number to the end of the urgent data (RFC 9293, section 3.8.5).
    pub urgent: Option<u16>,
    /// The time to live or hop limit with which it arrived.
    pub ttl: u8,
    /// The segment's payload.
    pub payload: &'a [u8],
}

/// Whether a packet's TCP checksum has to be verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Yes.
    Checksum,
    /// The device has done it, or the packet never left this machine's memory.
    Nothing,
}

/// The reason why a packet is not accepted as a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Lengths that contradict each other, or an unknown IP version.
    #[error("its lengths contradict each other, or its IP version is none")]
    Malformed,
    /// A checksum is wrong.
    #[error("a checksum is wrong")]
    Checksum,
    /// A fragment, for [`crate::reassembly`].
    #[error("it is a fragment")]
    Fragment,
    /// An address that must not be on the wire: multicast, broadcast, or IPv4 in IPv6's form.
    #[error("an address of it must not be on the wire")]
    Address,
    /// The number of a protocol other than TCP.
    #[error("it is of protocol {0}, not of TCP")]
    Protocol(u8),
}

/// Reads the packet.
///
/// # Errors
///
/// See [`Refused`].
#[inline]
pub fn read(packet: &[u8], verify: Verify) -> Result<Packet<'_>, Refused> {
    match packet.first().ok_or(Refused::Malformed)? >> 4 {
        4 => ipv4(packet, verify),
        6 => ipv6(packet, verify),
        _ => Err(Refused::Malformed),
    }
}

/// Returns whether the packet looks like a TCP segment with PSH, whose sender has no more to send.
/// It verifies nothing and does not look behind IPv6's extension headers.
#[must_use]
#[inline]
pub fn is_pushed(packet: &[u8]) -> bool {
    let (protocol, header_len) = match packet.first() {
        Some(first) if first >> 4 == 4 => (packet.get(9), usize::from(first & 0x0f) * 4),
        Some(_) => (packet.get(6), 40),
        None => return false,
    };
    let flags = packet.get(header_len + 13).copied().unwrap_or(0);
    protocol == Some(&TCP) && Flags::from_bits(flags).has(Flags::PSH)
}

#[inline]
fn ipv4(packet: &[u8], verify: Verify) -> Result<Packet<'_>, Refused> {
    let (fixed, _) = packet.split_first_chunk::<20>().ok_or(Refused::Malformed)?;
    let header_len = usize::from(fixed[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if header_len < 20 || total < header_len || packet.len() < total {
        return Err(Refused::Malformed);
    }
    if !Sum::default().with(&packet[..header_len]).is_right() {
        return Err(Refused::Checksum);
    }
    // More fragments follow, or this is not the first.
    if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
        return Err(Refused::Fragment);
    }
    if fixed[9] != TCP {
        return Err(Refused::Protocol(fixed[9]));
    }
    let [source, destination] = [12, 16].map(|at| *fixed[at..].first_chunk().expect("four octets"));
    // Multicast, reserved and broadcast addresses begin at 224 (RFC 9293, section 3.10.7: such a
    // segment is to be dropped; RFC 1122, section 3.2.1.3).
    if source[0] >= 224 || destination[0] >= 224 {
        return Err(Refused::Address);
    }
    let of_ip = OfIp {
        marked: fixed[1] & ECN == ECN,
        ttl: fixed[8],
    };
    tcp(&packet[header_len..total], verify, of_ip, |from, to| {
        (Endpoint::v4(source, from), Endpoint::v4(destination, to))
    })
}

#[inline]
fn ipv6(packet: &[u8], verify: Verify) -> Result<Packet<'_>, Refused> {
    let (fixed, rest) = packet.split_first_chunk::<40>().ok_or(Refused::Malformed)?;
    let len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let rest = rest.get(..len).ok_or(Refused::Malformed)?;
    let [source, destination] = [8, 24].map(|at| *fixed[at..].first_chunk().expect("16 octets"));
    let ends = [source, destination].map(|octets| Endpoint::v6(octets, 0));
    if ends.iter().any(Endpoint::is_ipv4) || source[0] == 0xff || destination[0] == 0xff {
        return Err(Refused::Address);
    }
    let upper = upper_layer(fixed[6], rest)?;
    let of_ip = OfIp {
        marked: fixed[1] >> 4 & ECN == ECN,
        ttl: fixed[7],
    };
    tcp(upper, verify, of_ip, |from, to| {
        (Endpoint::v6(source, from), Endpoint::v6(destination, to))
    })
}

/// Steps over extension headers (RFC 8200, section 4).
#[inline]
fn upper_layer(mut next: u8, mut rest: &[u8]) -> Result<&[u8], Refused> {
    loop {
        match next {
            TCP => return Ok(rest),
            FRAGMENT => return Err(Refused::Fragment),
            HOP_BY_HOP | ROUTING | DESTINATION => {
                let (&[following, len], _) = rest.split_first_chunk().ok_or(Refused::Malformed)?;
                next = following;
                let len = 8 + usize::from(len) * 8;
                rest = rest.get(len..).ok_or(Refused::Malformed)?;
            }
            other => return Err(Refused::Protocol(other)),
        }
    }
}

/// What the IP header tells about a segment, besides its ends.
#[derive(Clone, Copy)]
struct OfIp {
    /// Whether the packet has a congestion mark.
    marked: bool,
    ttl: u8,
}

#[inline]
fn tcp(
    segment: &[u8],
    verify: Verify,
    of_ip: OfIp,
    ends: impl FnOnce(u16, u16) -> (Endpoint, Endpoint),
) -> Result<Packet<'_>, Refused> {
    let (fixed, _) = segment
        .split_first_chunk::<20>()
        .ok_or(Refused::Malformed)?;
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < 20 || header_len > segment.len() {
        return Err(Refused::Malformed);
    }
    let be16 = |at| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let be32 = |at| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let (source, destination) = ends(be16(0), be16(2));
    if verify == Verify::Checksum {
        let sum = pseudo_header(&source, &destination, segment.len()).with(segment);
        if !sum.is_right() {
            return Err(Refused::Checksum);
        }
    }
    let flags = Flags::from_bits(fixed[13])
        .among(Flags::HEEDED)
        .with_if(of_ip.marked, Flags::CE);
    Ok(Packet {
        source,
        destination,
        header: Header {
            seq: be32(4),
            ack: if flags.has(Flags::ACK) { be32(8) } else { 0 },
            flags,
            window: be16(14),
            options: options::read_all(&segment[20..header_len]),
        },
        urgent: Flags::from_bits(fixed[13])
            .has(Flags::URG)
            .then(|| be16(18)),
        ttl: of_ip.ttl,
        payload: &segment[header_len..],
    })
}

/// The offsets near which a header's numbers are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// RCV.NXT.
    pub seq: Offset,
    /// SND.UNA.
    pub ack: Offset,
}

impl Numbering {
    /// Returns the engine's segment for a received header with `len` octets of payload. The
    /// numbering is the sender's.
    #[must_use]
    #[inline]
    pub fn segment(&self, header: &Header, len: usize, near: Near) -> Segment {
        let ack = match header.flags.has(Flags::ACK) {
            true => self.acks.offset(header.ack, near.ack),
            false => Offset::SYN,
        };
        // A SYN's window is never scaled (RFC 7323, section 2.2).
        let shift = match header.flags.has(Flags::SYN) {
            true => 0,
            false => self.window_shift,
        };
        Segment {
            seq: self.data.offset(header.seq, near.seq),
            ack,
            len: len as u32,
            window: u32::from(header.window) << shift,
            flags: header.flags,
            options: self.engine_options(&header.options, near),
        }
    }

    #[inline]
    fn engine_options(&self, options: &Options, near: Near) -> tinygram_engine::Options {
        // A block that is before the connection's first octet, or that ends before it begins, is
        // ignored.
        let block = |(left, right): (u32, u32)| {
            let start = self.acks.offset(left, near.ack);
            let end = self.acks.offset(right, near.ack);
            (Offset::SYN <= start && start < end).then_some(Span::new(start, end))
        };
        tinygram_engine::Options {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps,
            sack: options.sack.iter().filter_map(block).collect(),
            counters_permitted: options.counters_permitted,
            counters: options.counters,
        }
    }
}

/// The ECN field in the octet that it shares with the class of service. If both bits are set, the
/// packet is marked (RFC 3168, section 5).
const ECN: u8 = 0b11;
const TCP: u8 = 6;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;
