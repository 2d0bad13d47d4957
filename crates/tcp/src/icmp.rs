//! Answers echo requests, so that `ping` works (RFC 792; RFC 4443, section 4).

use tinygram_wire::checksum::Sum;

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
    let pseudo = |packet: &[u8]| {
        Sum::default()
            .with(&packet[8..40])
            .with_u16(len as u16)
            .with_u16(ICMP_V6.into())
    };
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

/// Swaps source and destination, which are adjacent from `at` on.
fn swap(packet: &mut [u8], at: usize, len: usize) {
    let (source, destination) = packet[at..at + 2 * len].split_at_mut(len);
    source.swap_with_slice(destination);
}

/// Returns the destination of an ICMP packet, from its IP header.
pub(super) fn destination(packet: &[u8]) -> Option<std::net::IpAddr> {
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
