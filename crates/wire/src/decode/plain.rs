//! The usual frame: Ethernet, IPv4 without options, TCP with no options but timestamps.

use tinygram_engine::{Flags, Timestamps};

use super::{Around, Head, IPV4, Segment, TCP, be16_of, be32};
use crate::capture::{Frame, LinkType};
use crate::endpoint::Endpoint;
use crate::options;

/// What one TCP segment says, but for its ends and its rarer options, with what the headers around it say. It is so short that
/// the segment of a plain frame fits into a cache line, together with its place in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Gist {
    /// Sequence number of the first byte of payload (or of SYN or FIN).
    pub seq: u32,
    /// Acknowledgment number; meaningful if [`Flags::ACK`] is set.
    pub ack: u32,
    /// Payload bytes on the wire.
    pub payload: u32,
    stamps: [u32; 2],
    /// Window field, not scaled.
    pub window: u16,
    /// IPv4's identification; 0 for IPv6.
    pub identification: u16,
    /// The first bytes of the payload.
    pub head: Head,
    /// Time to live, or hop limit.
    pub ttl: u8,
    flags: u8,
    has_stamps: bool,
}

impl Gist {
    /// Returns the gist of a segment.
    #[must_use]
    pub fn of(segment: &Segment, around: &Around) -> Self {
        let (has_stamps, stamps) = stamps_of(segment.options.timestamps);
        Self {
            seq: segment.seq,
            ack: segment.ack,
            payload: segment.payload,
            stamps,
            window: segment.window,
            identification: around.identification,
            head: around.head,
            ttl: around.ttl,
            flags: segment.flags.bits(),
            has_stamps,
        }
    }

    /// Returns the flag bits.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> Flags {
        Flags::from_bits(self.flags)
    }

    /// Returns the timestamps, if there are some.
    #[inline]
    #[must_use]
    pub fn timestamps(&self) -> Option<Timestamps> {
        let [value, echo] = self.stamps;
        self.has_stamps.then_some(Timestamps { value, echo })
    }
}

/// The segment in a plain frame, without room for what such a frame does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Plain {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    gist: Gist,
}

/// Returns the segment in a plain frame: Ethernet, IPv4 without options and TCP, with nothing in between, and with no TCP
/// options but timestamps. Nearly every frame is one. Returns `None` for any other frame, which may hold a segment all
/// the same ([`look`](super::look)).
#[expect(
    clippy::inline_always,
    reason = "its result is written where it is needed, and not copied: a processor waits for copies of what was just written in parts"
)]
#[inline(always)]
#[must_use]
pub fn plain(frame: &Frame<'_>) -> Option<Plain> {
    let head: &[u8; LEAST] = frame.data.first_chunk()?;
    let is_plain = frame.link == LinkType::ETHERNET
        && be16_of(head, 12) == IPV4
        && head[ETHERNET] == VERSION_AND_LENGTH
        && be16_of(head, ETHERNET + 6) & FRAGMENT == 0
        && head[ETHERNET + 9] == TCP;
    if !is_plain {
        return None;
    }
    let total = match usize::from(be16_of(head, ETHERNET + 2)) {
        0 => (frame.wire_len as usize).saturating_sub(ETHERNET),
        total => total,
    };
    let length = usize::from(head[ETHERNET + HEADER + 12] >> 4) * 4;
    if length < 20 || total < HEADER + length {
        return None;
    }
    let behind = ETHERNET + HEADER + length;
    let options = frame.data.get(ETHERNET + HEADER + 20..behind);
    let stamps = options::usual(options?)?;
    let payload = u32::try_from(total - HEADER - length).ok()?;
    let (has_stamps, stamps) = stamps_of(stamps);
    Some(Plain {
        addresses: [address(head, ETHERNET + 12), address(head, ETHERNET + 16)],
        ports: [
            be16_of(head, ETHERNET + HEADER),
            be16_of(head, ETHERNET + HEADER + 2),
        ],
        gist: Gist {
            seq: be32(head, ETHERNET + HEADER + 4),
            ack: be32(head, ETHERNET + HEADER + 8),
            payload,
            stamps,
            window: be16_of(head, ETHERNET + HEADER + 14),
            identification: be16_of(head, ETHERNET + 4),
            head: Head::of(frame.data.get(behind..).unwrap_or_default(), payload),
            ttl: head[ETHERNET + 8],
            flags: head[ETHERNET + HEADER + 13],
            has_stamps,
        },
    })
}

impl Plain {
    /// Returns the sender and the receiver.
    #[inline]
    #[must_use]
    pub fn ends(&self) -> [Endpoint; 2] {
        [0, 1].map(|end| Endpoint::v4(self.addresses[end], self.ports[end]))
    }

    /// Returns what the segment says.
    #[inline]
    #[must_use]
    pub fn gist(&self) -> &Gist {
        &self.gist
    }
}

/// Returns whether there are timestamps, and them.
#[inline]
fn stamps_of(timestamps: Option<Timestamps>) -> (bool, [u32; 2]) {
    let stamps = timestamps.map_or([0; 2], |it| [it.value, it.echo]);
    (timestamps.is_some(), stamps)
}

fn address(head: &[u8; LEAST], at: usize) -> [u8; 4] {
    [head[at], head[at + 1], head[at + 2], head[at + 3]]
}

/// The length of an Ethernet header.
const ETHERNET: usize = 14;
/// The length of an IPv4 header without options, and its first octet.
const HEADER: usize = 20;
const VERSION_AND_LENGTH: u8 = 0x45;
/// The bytes of a plain frame up to the window field, which are needed.
const LEAST: usize = ETHERNET + HEADER + 16;
/// The bits of IPv4's fragment field that a whole packet has not set.
const FRAGMENT: u16 = 0x3fff;
