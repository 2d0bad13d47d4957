//! Finds whose segment a frame holds without decoding the segment.

use super::{HEAD, IPV4, TCP, be16, be16_of};
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

/// Returns the ends of the segment in a plain frame: Ethernet, IPv4 and TCP, with nothing in between. Nearly every
/// frame is one, and [`look`](super::look) finds a segment in it. Returns `None` for any other frame, which may hold
/// a segment all the same.
#[inline]
#[must_use]
pub fn plain(frame: &Frame<'_>) -> Option<Plain> {
    let data = frame.data;
    let packet: &[u8; 20] = data.get(ETHERNET..)?.first_chunk()?;
    let header = usize::from(packet[0] & 0x0f) * 4;
    let is_plain = frame.link == LinkType::ETHERNET
        && be16(data, 12) == Some(IPV4)
        && packet[0] >> 4 == 4
        && be16_of(packet, 6) & FRAGMENT == 0
        && packet[9] == TCP
        && header >= packet.len();
    if !is_plain {
        return None;
    }
    let segment: &[u8; 16] = data.get(ETHERNET + header..)?.first_chunk()?;
    let total = match usize::from(be16_of(packet, 2)) {
        0 => (frame.wire_len as usize).saturating_sub(ETHERNET),
        total => total,
    };
    let length = usize::from(segment[12] >> 4) * 4;
    if length < 20 || total.checked_sub(header)? < length {
        return None;
    }
    let end = |at: usize, port| {
        let octets = [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
        Endpoint::v4(octets, port)
    };
    Some(Plain {
        source: end(12, be16_of(segment, 0)),
        destination: end(16, be16_of(segment, 2)),
        read: data.len().min(ETHERNET + header + length + HEAD),
    })
}

/// The length of an Ethernet header.
const ETHERNET: usize = 14;
/// The bits of IPv4's fragment field that a whole packet has not set.
const FRAGMENT: u16 = 0x3fff;
