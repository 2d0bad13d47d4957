//! Finds whose segment a frame holds without decoding the segment.

use super::{HEAD, IPV4, TCP, be16_of};
use crate::capture::{Frame, LinkType};
use crate::endpoint::Endpoint;

/// What is known of a plain frame before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plain {
    /// The sender.
    pub source: Endpoint,
    /// The receiver.
    pub destination: Endpoint,
    /// How many bytes of the frame [`look`](super::look) reads, from its beginning; those behind them change
    /// nothing.
    pub read: usize,
}

/// Returns the ends of the segment in a plain frame: Ethernet, IPv4 without options and TCP, with nothing in between. Nearly
/// every frame is one, and [`look`](super::look) finds a segment in it. Returns `None` for any other frame, which may hold
/// a segment all the same.
#[inline]
#[must_use]
pub fn plain(frame: &Frame<'_>) -> Option<Plain> {
    // Up to the window field.
    let head: &[u8; ETHERNET + HEADER + 16] = frame.data.first_chunk()?;
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
    let end = |at: usize, port: usize| {
        let octets = [head[at], head[at + 1], head[at + 2], head[at + 3]];
        Endpoint::v4(octets, be16_of(head, port))
    };
    Some(Plain {
        source: end(ETHERNET + 12, ETHERNET + HEADER),
        destination: end(ETHERNET + 16, ETHERNET + HEADER + 2),
        read: frame.data.len().min(ETHERNET + HEADER + length + HEAD),
    })
}

/// The length of an Ethernet header.
const ETHERNET: usize = 14;
/// The length of an IPv4 header without options, and its first octet.
const HEADER: usize = 20;
const VERSION_AND_LENGTH: u8 = 0x45;
/// The bits of IPv4's fragment field that a whole packet has not set.
const FRAGMENT: u16 = 0x3fff;
