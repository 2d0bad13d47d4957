//! Decodes a captured frame into the facts of one TCP segment.
//!
//! The decoder is written by hand because it runs once per frame of captures of any size. It
//! allocates and copies nothing and accepts truncated frames. The tests compare it with
//! `etherparse`.

mod plain;
mod tunnel;

use std::ops::Deref;

use tinygram_engine::Flags;

use crate::capture::{Frame, LinkType};
use crate::endpoint::Endpoint;
use crate::options::{self, Options};

pub use plain::{Gist, Plain, plain};

/// What one TCP segment says, as far as the captured part of the frame shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// Sequence number of the first byte of payload (or of SYN or FIN).
    pub seq: u32,
    /// Acknowledgment number; meaningful if [`Flags::ACK`] is set.
    pub ack: u32,
    /// The flag bits.
    pub flags: Flags,
    /// Window field, not scaled.
    pub window: u16,
    /// Payload bytes on the wire, computed from the IP header; the captured part may be shorter.
    pub payload: u32,
    /// The options that were captured.
    pub options: Options,
}

/// What the IP header says about the segment, and the first bytes of the payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// IPv4's identification; 0 for IPv6.
    pub identification: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The first bytes of the payload.
    pub head: Head,
}

/// The captured first bytes of a payload, at most eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    bytes: [u8; HEAD],
    len: u8,
}

impl Head {
    /// `captured` may go on behind the payload.
    #[inline]
    fn of(captured: &[u8], payload: u32) -> Self {
        let begun = &captured[..captured.len().min(payload as usize)];
        match begun.first_chunk() {
            Some(bytes) => Self {
                bytes: *bytes,
                len: HEAD as u8,
            },
            None => {
                let mut bytes = [0; HEAD];
                for (to, from) in bytes.iter_mut().zip(begun) {
                    *to = *from;
                }
                Self {
                    bytes,
                    len: begun.len() as u8,
                }
            }
        }
    }
}

impl Deref for Head {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The reason why a frame gave no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unread {
    /// A link type that is not read.
    #[error("its link type is not read")]
    LinkType,
    /// The snap length cut the frame before the end of the TCP header.
    #[error("it is cut off before the end of the TCP header")]
    Cut,
    /// An IP fragment that may hold a part of a segment. Only the first fragment has the header, and its
    /// length is not the segment's.
    #[error("it is a fragment")]
    Fragment,
    /// A tunnel that is encrypted, or of a kind that is not read.
    #[error("it is in a tunnel that is not read")]
    Tunnel,
    /// QUIC, which has its own acknowledgments over UDP.
    #[error("it is QUIC")]
    Quic,
    /// Anything else that is not TCP.
    #[error("it is no TCP")]
    NoTcp,
}

/// Returns the TCP segment in a frame, or `None` if there is none or its header was cut off.
///
/// Looks into tunnels (see [`look`]) and returns the innermost segment of nested ones.
#[inline]
#[must_use]
pub fn segment(frame: &Frame<'_>) -> Option<Segment> {
    look(frame).ok().map(|(segment, _)| segment)
}

/// Returns the TCP segment in a frame, with what the headers around it say.
///
/// Reads through VLAN tags, MPLS, PPPoE, PPP, IP in IP, GRE (with ERSPAN and PPTP), VXLAN (and VXLAN-GPE),
/// GTP-U, Geneve, L2TP of version 2, GUE, LISP, Teredo, Cisco's metadata, a network service header and an
/// authentication header.
/// Of the fragments of a packet it tells those apart that cannot hold TCP.
///
/// # Errors
/// Returns the reason why there is no segment.
#[expect(
    clippy::inline_always,
    reason = "its result is large: it need not be copied where it is made at its place"
)]
#[inline(always)]
pub fn look(frame: &Frame<'_>) -> Result<(Segment, Around), Unread> {
    let bytes = Bytes {
        data: frame.data,
        on_wire: frame.wire_len as usize,
    };
    // Nearly every frame is such a one: IPv4 without options.
    if frame.link == LinkType::ETHERNET
        && let Some(IPV4) = be16(bytes.data, 12)
        && bytes.data.get(14) == Some(&0x45)
    {
        return ipv4(bytes.behind(14)?, 20, 0);
    }
    other(bytes, frame.link)
}

/// Reads what is not IPv4 right behind an Ethernet header: apart, so that the usual frame needs few
/// instructions.
#[inline(never)]
fn other(bytes: Bytes<'_>, link: LinkType) -> Look {
    match link {
        LinkType::ETHERNET => ether_type(bytes, 12, 0),
        LinkType::LINUX_SLL => ether_type(bytes, 14, 0),
        LinkType::LINUX_SLL2 => match be16(bytes.data, 0) {
            Some(IPV4 | IPV6) => ip(bytes.behind(20)?, 0),
            Some(VLAN | SERVICE_VLAN) => ether_type(bytes.behind(20)?, 2, 0),
            Some(other) => tunnel::ether(bytes.behind(20)?, other, 0),
            None => Err(Unread::Cut),
        },
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => ip(bytes, 0),
        // The number of the address family differs between systems; the version nibble after it
        // does not.
        LinkType::NULL | LinkType::LOOP => ip(bytes.behind(4)?, 0),
        LinkType(other) => tunnel::link(bytes, other),
    }
}

/// A frame after decoding: what is left of it without its octets.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// Capture time in nanoseconds since the epoch.
    pub time_ns: i64,
    /// The link type.
    pub link: LinkType,
    /// The segment in it, or the reason why there is none.
    pub look: Look,
}

impl Decoded {
    /// Decodes a frame.
    #[inline]
    #[must_use]
    pub fn of(frame: &Frame<'_>) -> Self {
        Self {
            time_ns: frame.time_ns,
            link: frame.link,
            look: look(frame),
        }
    }
}

/// The rest of a packet after the headers that were read.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    data: &'a [u8],
    /// Its length on the wire.
    on_wire: usize,
}

impl<'a> Bytes<'a> {
    #[inline]
    fn behind(self, header: usize) -> Result<Bytes<'a>, Unread> {
        Ok(Bytes {
            data: self.data.get(header..).ok_or(Unread::Cut)?,
            on_wire: self.on_wire.saturating_sub(header),
        })
    }
}

impl Bytes<'_> {
    /// Returns what was read of them. If all of them were captured, nothing was cut off: there is no more.
    #[cold]
    fn unless_whole(self, look: Look) -> Look {
        match look {
            Err(Unread::Cut) if self.data.len() >= self.on_wire => Err(Unread::NoTcp),
            seen => seen,
        }
    }
}

/// The result of looking into a frame.
pub type Look = Result<(Segment, Around), Unread>;

/// Steps over VLAN tags (802.1Q, QinQ); `depth` counts the enclosing tunnels.
fn ether_type(bytes: Bytes<'_>, mut at: usize, depth: u8) -> Look {
    for _ in 0..4 {
        match be16(bytes.data, at).ok_or(Unread::Cut)? {
            IPV4 | IPV6 => return ip(bytes.behind(at + 2)?, depth),
            VLAN | SERVICE_VLAN | 0x9100 | 0x9200 => at += 4,
            other => return tunnel::ether(bytes.behind(at + 2)?, other, depth),
        }
    }
    Err(Unread::NoTcp)
}

/// Reads an IP packet.
fn ip(bytes: Bytes<'_>, depth: u8) -> Look {
    match bytes.data.first().ok_or(Unread::Cut)? >> 4 {
        4 => ipv4(bytes, usize::from(bytes.data[0] & 0x0f) * 4, depth),
        6 => ipv6(bytes, depth),
        _ => Err(Unread::NoTcp),
    }
}

/// Reads an IPv4 packet with a header of this length.
#[expect(clippy::inline_always, reason = "a part of `look`")]
#[inline(always)]
fn ipv4(bytes: Bytes<'_>, header: usize, depth: u8) -> Look {
    let packet: &[u8; 20] = bytes.data.first_chunk().ok_or(Unread::Cut)?;
    let place = be16_of(packet, 6) & 0x3fff;
    if place != 0 {
        return Err(tunnel::fragment(
            bytes.behind(header)?,
            packet[9],
            place & 0x1fff == 0,
            depth,
        ));
    }
    if header < packet.len() {
        return Err(Unread::NoTcp);
    }
    // Segmentation offload makes frames whose total length does not fit into the field or is not
    // filled in.
    let total = match usize::from(be16_of(packet, 2)) {
        0 => bytes.on_wire,
        total => total,
    };
    let inner = Bytes {
        data: bytes.data.get(header..).ok_or(Unread::Cut)?,
        on_wire: total.checked_sub(header).ok_or(Unread::NoTcp)?,
    };
    if packet[9] != TCP {
        return tunnel::protocol(inner, packet[9], depth);
    }
    let around = Around {
        identification: be16_of(packet, 4),
        ttl: packet[8],
        ..Around::default()
    };
    tcp(inner, around, |source, port| {
        let at = if source { 12 } else { 16 };
        Endpoint::v4(
            [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]],
            port,
        )
    })
}

#[inline]
fn ipv6(bytes: Bytes<'_>, depth: u8) -> Look {
    let packet = bytes.data;
    if packet.len() < 40 {
        return Err(Unread::Cut);
    }
    // BIG TCP: a length of zero announces a jumbo payload.
    let payload = match usize::from(be16(packet, 4).unwrap_or(0)) {
        0 => bytes.on_wire.checked_sub(40).ok_or(Unread::NoTcp)?,
        payload => payload,
    };
    let mut next = packet[6];
    let mut at = 40;
    for _ in 0..8 {
        let inner = Bytes {
            on_wire: (40 + payload).checked_sub(at).ok_or(Unread::NoTcp)?,
            data: packet.get(at..).ok_or(Unread::Cut)?,
        };
        match next {
            TCP => {
                let around = Around {
                    ttl: packet[7],
                    ..Around::default()
                };
                return tcp(inner, around, |source, port| {
                    let from = if source { 8 } else { 24 };
                    Endpoint::of_bits(be64(packet, from), be64(packet, from + 8), port)
                });
            }
            // Hop-by-hop, routing and destination options.
            0 | 43 | 60 => {
                next = *inner.data.first().ok_or(Unread::Cut)?;
                at += 8 + usize::from(*inner.data.get(1).ok_or(Unread::Cut)?) * 8;
            }
            44 => {
                let place = be16(inner.data, 2).ok_or(Unread::Cut)?;
                next = inner.data[0];
                at += 8;
                // A header without a fragment (RFC 6946) is read over.
                if place & 0xfff9 != 0 {
                    let begun = inner.behind(8)?;
                    return Err(tunnel::fragment(begun, next, place & 0xfff8 == 0, depth));
                }
            }
            other => return tunnel::protocol(inner, other, depth),
        }
    }
    Err(Unread::NoTcp)
}

#[expect(clippy::inline_always, reason = "a part of `look`")]
#[inline(always)]
fn tcp(bytes: Bytes<'_>, mut around: Around, endpoint: impl Fn(bool, u16) -> Endpoint) -> Look {
    let captured = bytes.data;
    // Needs the header up to the window field, which a snap length of 54 bytes leaves of Ethernet
    // and IPv4.
    let Some(header) = captured.first_chunk::<16>() else {
        return bytes.unless_whole(Err(Unread::Cut));
    };
    let length = usize::from(header[12] >> 4) * 4;
    let payload = bytes.on_wire.checked_sub(length).filter(|_| length >= 20);
    let payload = payload.and_then(|bytes| u32::try_from(bytes).ok());
    let payload = payload.ok_or(Unread::NoTcp)?;
    let options = captured
        .get(20..length.min(captured.len()))
        .unwrap_or_default();
    around.head = Head::of(captured.get(length..).unwrap_or_default(), payload);
    // Not by `read_all`: options that are made apart are written in parts and copied in larger pieces, for which the
    // processor waits.
    match options::usual(options) {
        Some(timestamps) => {
            let usual = Options {
                timestamps,
                ..Options::default()
            };
            Ok((segment_of(header, payload, usual, endpoint), around))
        }
        None => unusual(header, payload, options, around, endpoint),
    }
}

/// Returns a segment with options of any kinds. Apart, since otherwise both kinds are made elsewhere and copied to their place.
#[cold]
#[inline(never)]
fn unusual(
    header: &[u8; 16],
    payload: u32,
    options: &[u8],
    around: Around,
    endpoint: impl Fn(bool, u16) -> Endpoint,
) -> Look {
    let gathered = options::gather(options);
    Ok((segment_of(header, payload, gathered, endpoint), around))
}

/// Returns what a header says.
#[expect(clippy::inline_always, reason = "a part of `look`")]
#[inline(always)]
fn segment_of(
    header: &[u8; 16],
    payload: u32,
    options: Options,
    endpoint: impl Fn(bool, u16) -> Endpoint,
) -> Segment {
    Segment {
        source: endpoint(true, be16_of(header, 0)),
        destination: endpoint(false, be16_of(header, 2)),
        seq: be32(header, 4),
        ack: be32(header, 8),
        flags: Flags::from_bits(header[13]),
        window: be16_of(header, 14),
        payload,
        options,
    }
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// Reads a number of a header. The caller has checked that the bytes are there.
#[inline]
fn be16_of<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

/// Reads a number. The caller has checked that the bytes are there.
#[inline]
fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Reads a number. The caller has checked that the bytes are there.
#[inline]
fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// IEEE 802.1Q and 802.1ad.
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const TCP: u8 = 6;
/// Enough for the length field of any protocol that begins with one.
const HEAD: usize = 8;
