//! What this stack says by ICMP: answers to echo requests, so that `ping` works (RFC 792; RFC 4443,
//! section 4), and that the rest of a packet did not come in time.

use std::net::IpAddr;

use tinygram_engine::Instant;
use tinygram_wire::checksum::Sum;

use super::addresses::check_address;

/// How many errors may be sent (RFC 1812, section 4.3.2.8; RFC 4443, section 2.4, (f), requires a limit).
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    left: u64,
    /// Up to when the allowance has grown.
    grown: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            left: BURST,
            grown: Instant::ZERO,
        }
    }
}

impl Allowance {
    /// Returns whether an error may be sent, and counts it.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let new = now.since(self.grown).as_nanos() / (1_000_000_000 / PER_SECOND);
        if new > 0 {
            self.left = BURST.min(self.left + new);
            self.grown = now;
        }
        let may = self.left > 0;
        self.left -= u64::from(may);
        may
    }
}

/// Returns the error that tells the sender of a packet's first fragment that the rest did not come
/// in time (RFC 792, time exceeded, code 1; RFC 8200, section 4.5). `None` if such a packet must not
/// be answered with an error (RFC 1122, section 3.2.2; RFC 4443, section 2.4, (e)).
pub(super) fn time_exceeded(first: &[u8]) -> Option<Vec<u8>> {
    match first.first()? >> 4 {
        4 => time_exceeded_v4(first),
        6 => time_exceeded_v6(first),
        _ => None,
    }
}

fn time_exceeded_v4(first: &[u8]) -> Option<Vec<u8>> {
    let source: [u8; 4] = first.get(12..16)?.try_into().ok()?;
    let one_host = source[0] != 0 && check_address(source.into()).is_ok();
    let header = usize::from(first[0] & 0x0f) * 4;
    let an_error = first[9] == ICMP && first.get(header) != Some(&ECHO_V4);
    if !one_host || an_error {
        return None;
    }
    let quote = &first[..first.len().min(MOST_QUOTED_V4)];
    let [high, low] = (28 + quote.len() as u16).to_be_bytes();
    // Internetwork control (RFC 1812, section 4.3.2.5).
    let mut packet = vec![0x45, 0xc0, high, low, 0, 0, 0x40, 0, 64, ICMP, 0, 0];
    packet.extend(&first[16..20]);
    packet.extend(source);
    let sum = Sum::default().with(&packet).checksum();
    packet[10..12].copy_from_slice(&sum);
    packet.extend([TIME_EXCEEDED_V4, REASSEMBLY, 0, 0, 0, 0, 0, 0]);
    packet.extend(quote);
    let sum = Sum::default().with(&packet[20..]).checksum();
    packet[22..24].copy_from_slice(&sum);
    Some(packet)
}

fn time_exceeded_v6(first: &[u8]) -> Option<Vec<u8>> {
    let source: [u8; 16] = first.get(8..24)?.try_into().ok()?;
    let one_host = check_address(source.into()).is_ok();
    // Errors have types below 128 (RFC 4443, section 2.1).
    let (next, at) = fragment_header(first)?;
    let an_error = next == ICMP_V6 && first.get(at + 8).is_none_or(|kind| *kind < 128);
    if !one_host || an_error {
        return None;
    }
    let len = 8 + first.len() as u16;
    let [high, low] = len.to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, ICMP_V6, 64];
    packet.extend(&first[24..40]);
    packet.extend(source);
    packet.extend([TIME_EXCEEDED_V6, REASSEMBLY, 0, 0, 0, 0, 0, 0]);
    packet.extend(first);
    let sum = pseudo_v6(&packet, len).with(&packet[40..]).checksum();
    packet[42..44].copy_from_slice(&sum);
    Some(packet)
}

/// Returns the number of the header that follows the fragment header of an IPv6 packet, and where the
/// fragment header is.
fn fragment_header(packet: &[u8]) -> Option<(u8, usize)> {
    let (mut kind, mut at) = (packet[6], 40);
    while kind != FRAGMENT {
        kind = *packet.get(at)?;
        at += 8 + usize::from(*packet.get(at + 1)?) * 8;
    }
    Some((*packet.get(at)?, at))
}

/// Returns the answer to `packet`, if it is an echo request that arrived whole.
pub(super) fn echo_reply(packet: &[u8]) -> Option<Vec<u8>> {
    match packet.first()? >> 4 {
        4 => reply_v4(packet),
        6 => reply_v6(packet),
        _ => None,
    }
}

fn reply_v4(packet: &[u8]) -> Option<Vec<u8>> {
    let header = usize::from(packet[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let message = packet.get(header..total)?;
    let echo = header >= 20 && message.len() >= 8 && message[0] == ECHO_V4 && message[1] == 0;
    if !echo || !Sum::default().with(message).is_right() {
        return None;
    }
    // The options of the request are not repeated.
    let mut reply = packet[..20].to_vec();
    reply.extend_from_slice(message);
    let [high, low] = (reply.len() as u16).to_be_bytes();
    reply[..12].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, ICMP, 0, 0]);
    swap(&mut reply, 12, 4);
    let sum = Sum::default().with(&reply[..20]).checksum();
    reply[10..12].copy_from_slice(&sum);
    reply[20] = ECHO_REPLY_V4;
    reply[22..24].fill(0);
    let sum = Sum::default().with(&reply[20..]).checksum();
    reply[22..24].copy_from_slice(&sum);
    Some(reply)
}

fn reply_v6(packet: &[u8]) -> Option<Vec<u8>> {
    let len = usize::from(u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]));
    let packet = packet.get(..40 + len)?;
    let pseudo = |packet: &[u8]| pseudo_v6(packet, len as u16);
    let message = &packet[40..];
    let echo = packet[6] == ICMP_V6 && len >= 8 && message[0] == ECHO_V6 && message[1] == 0;
    // A request to a group of receivers may stay unanswered, and does here.
    if !echo || packet[24] == 0xff || !pseudo(packet).with(message).is_right() {
        return None;
    }
    let mut reply = packet.to_vec();
    reply[7] = 64;
    swap(&mut reply, 8, 16);
    reply[40] = ECHO_REPLY_V6;
    reply[42..44].fill(0);
    let sum = pseudo(&reply).with(&reply[40..]).checksum();
    reply[42..44].copy_from_slice(&sum);
    Some(reply)
}

/// Returns the sum of the pseudo-header of an ICMPv6 message with `len` octets.
fn pseudo_v6(packet: &[u8], len: u16) -> Sum {
    let addresses = Sum::default().with(&packet[8..40]);
    addresses.with_u16(len).with_u16(ICMP_V6.into())
}

/// Swaps source and destination, which are adjacent from `at` on.
fn swap(packet: &mut [u8], at: usize, len: usize) {
    let (source, destination) = packet[at..at + 2 * len].split_at_mut(len);
    source.swap_with_slice(destination);
}

/// Returns the source of a packet, from its IP header.
pub(super) fn source(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(<[u8; 4]>::try_from(packet.get(12..16)?).ok()?.into()),
        6 => Some(<[u8; 16]>::try_from(packet.get(8..24)?).ok()?.into()),
        _ => None,
    }
}

/// Returns the destination of a packet, from its IP header.
pub(super) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?.into()),
        6 => Some(<[u8; 16]>::try_from(packet.get(24..40)?).ok()?.into()),
        _ => None,
    }
}

/// Protocol numbers.
pub(super) const ICMP: u8 = 1;
/// See [`ICMP`].
pub(super) const ICMP_V6: u8 = 58;
const ECHO_V4: u8 = 8;
const ECHO_REPLY_V4: u8 = 0;
const ECHO_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;
const TIME_EXCEEDED_V4: u8 = 11;
const TIME_EXCEEDED_V6: u8 = 3;
/// The code of both for fragments.
const REASSEMBLY: u8 = 1;
/// The number of IPv6's fragment header.
const FRAGMENT: u8 = 44;
/// An error of IPv4 has at most 576 octets (RFC 1812, section 4.3.2.3).
const MOST_QUOTED_V4: usize = 576 - 28;
/// The most errors at once, and per second (Linux: `icmp_msgs_burst`, `icmp_msgs_per_sec`).
const BURST: u64 = 50;
const PER_SECOND: u64 = 1000;
