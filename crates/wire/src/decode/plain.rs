//! The usual frame: Ethernet, IPv4 without options, TCP with no options but timestamps.

use tinygram_engine::{Flags, Timestamps};

use super::{Around, HEAD, Head, IPV4, Segment, TCP, be16_of, be32};
use crate::capture::{Frame, LinkType};
use crate::endpoint::Endpoint;
use crate::options::{self, Options, SackBlocks};

/// The segment in a plain frame, without room for what such a frame does not have: in so few bytes that one which was decoded
/// by one thread fits into a cache line that passes to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Plain {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    payload: u32,
    stamps: [u32; 2],
    head: [u8; HEAD],
    window: u16,
    identification: u16,
    flags: u8,
    ttl: u8,
    head_len: u8,
    has_stamps: bool,
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
    let begun = Head::of(frame.data.get(behind..).unwrap_or_default(), payload);
    let (value, echo) = stamps.map_or((0, 0), |stamps| (stamps.value, stamps.echo));
    Some(Plain {
        addresses: [address(head, ETHERNET + 12), address(head, ETHERNET + 16)],
        ports: [
            be16_of(head, ETHERNET + HEADER),
            be16_of(head, ETHERNET + HEADER + 2),
        ],
        seq: be32(head, ETHERNET + HEADER + 4),
        ack: be32(head, ETHERNET + HEADER + 8),
        payload,
        stamps: [value, echo],
        head: begun.bytes,
        window: be16_of(head, ETHERNET + HEADER + 14),
        identification: be16_of(head, ETHERNET + 4),
        flags: head[ETHERNET + HEADER + 13],
        ttl: head[ETHERNET + 8],
        head_len: begun.len,
        has_stamps: stamps.is_some(),
    })
}

impl Plain {
    /// Returns the sender and the receiver.
    #[inline]
    #[must_use]
    pub fn ends(&self) -> [Endpoint; 2] {
        [0, 1].map(|end| Endpoint::v4(self.addresses[end], self.ports[end]))
    }

    /// Returns the length of its payload, in bytes.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// Returns the segment.
    #[expect(clippy::inline_always, reason = "its result is large, and not copied")]
    #[inline(always)]
    #[must_use]
    pub fn segment(&self) -> Segment {
        let [source, destination] = self.ends();
        let stamps = Timestamps {
            value: self.stamps[0],
            echo: self.stamps[1],
        };
        Segment {
            source,
            destination,
            seq: self.seq,
            ack: self.ack,
            flags: Flags::from_bits(self.flags),
            window: self.window,
            payload: self.payload,
            options: Options {
                mss: None,
                window_scale: None,
                sack_permitted: false,
                timestamps: self.has_stamps.then_some(stamps),
                sack: SackBlocks::NONE,
            },
        }
    }

    /// Returns what the headers around the segment say.
    #[inline]
    #[must_use]
    pub fn around(&self) -> Around {
        Around {
            identification: self.identification,
            ttl: self.ttl,
            head: Head {
                bytes: self.head,
                len: self.head_len,
            },
        }
    }
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
