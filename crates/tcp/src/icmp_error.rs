//! ICMP errors of routers and hosts (RFC 792, RFC 4443), and the MTU of each path.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use tinygram_engine::{Duration, Instant};
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::Version;

use super::socket::Fate;
use super::{Core, Pair, headers_len, icmp};

/// An error, with what it quotes of one of this stack's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IcmpError {
    pair: Pair,
    /// The packet's sequence number.
    seq: u32,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The next link takes packets of at most this many octets (RFC 1191, RFC 8201).
    TooBig(u16),
    /// Permanent (RFC 1122, section 4.2.3.9: codes 2 to 4, and similar ones).
    Hard(Fate),
    /// Possibly temporary: the connection keeps trying, and the error is stored for the
    /// application.
    Soft(Fate),
}

/// The MTUs of paths, as routers reported them, with the time until which each holds.
#[derive(Debug, Default)]
pub(super) struct PathMtus {
    known: BTreeMap<IpAddr, (u16, Instant)>,
}

/// TCP's protocol number.
const TCP: u8 = 6;
/// How long a reported MTU holds (RFC 1191, section 6.3; RFC 8201, section 5.3: ten minutes).
const LIFE: Duration = Duration::from_secs(600);
/// The most destinations that are remembered.
const MOST: usize = 1024;
/// "A node MUST NOT reduce its estimate of the Path MTU below the IPv6 minimum link MTU" (RFC 8201,
/// section 4).
const LEAST_V6: u16 = 1280;
/// The least MTU that is believed for IPv4 (Linux: `min_pmtu`).
const LEAST_V4: u16 = 552;
/// Common MTUs, for routers that report none (RFC 1191, section 7.1).
const PLATEAUS: [u16; 8] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, 552];

impl PathMtus {
    /// Returns the MTU of a path, if a router reported it recently, and until when that holds.
    pub(super) fn towards(&self, now: Instant, destination: IpAddr) -> Option<(u16, Instant)> {
        let known = self.known.get(&destination)?;
        (now < known.1).then_some(*known)
    }

    fn learn(&mut self, now: Instant, destination: IpAddr, mtu: u16) {
        if self.known.len() >= MOST {
            self.known.retain(|_, (_, until)| now < *until);
        }
        if self.known.len() >= MOST {
            self.known.pop_first();
        }
        let least = self
            .towards(now, destination)
            .map_or(u16::MAX, |known| known.0);
        let entry = (mtu.min(least), now + LIFE);
        self.known.insert(destination, entry);
    }
}

/// Parses an error that quotes a TCP segment; `None` if the packet is something else or damaged.
pub(super) fn read(packet: &[u8]) -> Option<IcmpError> {
    match packet.first()? >> 4 {
        4 => read_v4(packet),
        6 => read_v6(packet),
        _ => None,
    }
}

fn read_v4(packet: &[u8]) -> Option<IcmpError> {
    let header = usize::from(packet[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let message = packet.get(header..total)?;
    if header < 20 || packet.get(9) != Some(&icmp::ICMP) || !Sum::default().with(message).is_right()
    {
        return None;
    }
    let quoted = message.get(8..)?;
    let quoted_header = usize::from(quoted.first()? & 0x0f) * 4;
    if quoted[0] >> 4 != 4 || quoted_header < 20 || quoted.get(9) != Some(&TCP) {
        return None;
    }
    let be16 = |at: usize| {
        Some(u16::from_be_bytes([
            *message.get(at)?,
            *message.get(at + 1)?,
        ]))
    };
    let what = match (message[0], message[1]) {
        (3, 4) => What::TooBig(match be16(6)? {
            0 => {
                let sent = u16::from_be_bytes([quoted[2], quoted[3]]);
                PLATEAUS.into_iter().find(|mtu| *mtu < sent)?
            }
            said => said,
        }),
        // Linux's table (`icmp_err_convert`); hard if the table says fatal.
        (3, 2) => What::Hard(Fate::NoProtocol),
        (3, 3) => What::Hard(Fate::Refused),
        (3, 6 | 9) => What::Hard(Fate::NetworkUnreachable),
        (3, 7 | 8 | 10 | 13..=15) => What::Hard(Fate::HostUnreachable),
        (3, 0 | 11) => What::Soft(Fate::NetworkUnreachable),
        (3 | 11, _) => What::Soft(Fate::HostUnreachable),
        _ => return None,
    };
    let address = |at: usize| <[u8; 4]>::try_from(quoted.get(at..at + 4)?).ok();
    let (from, to) = (address(12)?, address(16)?);
    let ports = quoted.get(quoted_header..)?;
    quote(ports, what, |source, destination| Pair {
        local: SocketAddr::from((from, source)).into(),
        remote: SocketAddr::from((to, destination)).into(),
    })
}

fn read_v6(packet: &[u8]) -> Option<IcmpError> {
    let len = u16::from_be_bytes([*packet.get(4)?, *packet.get(5)?]);
    let packet = packet.get(..40 + usize::from(len))?;
    let message = &packet[40..];
    let sum = Sum::default()
        .with(&packet[8..40])
        .with_u16(len)
        .with_u16(icmp::ICMP_V6.into());
    if packet[6] != icmp::ICMP_V6 || message.len() < 8 || !sum.with(message).is_right() {
        return None;
    }
    let quoted = &message[8..];
    if quoted.first()? >> 4 != 6 || quoted.get(6) != Some(&TCP) {
        return None;
    }
    let what = match (message[0], message[1]) {
        (2, _) => {
            let mtu = u32::from_be_bytes(message[4..8].try_into().ok()?);
            What::TooBig(mtu.min(u16::MAX.into()) as u16)
        }
        (1, 4) => What::Hard(Fate::Refused),
        (1, 1 | 5 | 6) => What::Hard(Fate::HostUnreachable),
        (4, 1) => What::Hard(Fate::NoProtocol),
        (1, 0) => What::Soft(Fate::NetworkUnreachable),
        (1 | 3, _) => What::Soft(Fate::HostUnreachable),
        _ => return None,
    };
    let address = |at: usize| <[u8; 16]>::try_from(quoted.get(at..at + 16)?).ok();
    let (from, to) = (address(8)?, address(24)?);
    quote(quoted.get(40..)?, what, |source, destination| Pair {
        local: SocketAddr::from((from, source)).into(),
        remote: SocketAddr::from((to, destination)).into(),
    })
}

/// Parses ports and sequence number, which every error quotes of a segment.
fn quote(tcp: &[u8], what: What, pair: impl FnOnce(u16, u16) -> Pair) -> Option<IcmpError> {
    let tcp: &[u8; 8] = tcp.first_chunk()?;
    let port = |at| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    Some(IcmpError {
        pair: pair(port(0), port(2)),
        seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        what,
    })
}

impl Core {
    /// Handles an error that quotes a segment. It is believed only if that segment may be on its
    /// way (RFC 5927, section 4.1).
    pub(super) fn on_icmp_error(&mut self, now: Instant, error: &IcmpError) {
        let Some(&key) = self.pairs.get(&error.pair) else {
            self.counters.icmp_refused += 1;
            return;
        };
        let socket = &mut self.sockets[key];
        let una = socket.connection.sender().vars().una;
        let seq = socket.ours.offset(error.seq, una);
        if !socket.connection.may_be_in_flight(seq) {
            self.counters.icmp_refused += 1;
            return;
        }
        self.counters.icmp_errors += 1;
        match error.what {
            What::TooBig(mtu) => {
                let version = socket.path.version();
                let mtu = match version {
                    Version::V4 => mtu.max(LEAST_V4),
                    Version::V6 => mtu.max(LEAST_V6),
                };
                // A packet that is too large for this stack's own link proves nothing.
                if mtu >= self.abilities.mtu {
                    return;
                }
                let remote = error.pair.remote.address();
                self.path_mtus.learn(now, remote, mtu);
                let mss = mtu - headers_len(version);
                socket.connection.on_path_mss(now, mss, &mut self.outbox);
            }
            What::Hard(fate) => {
                socket.soft_error = Some(fate);
                if socket.connection.on_unreachable(&mut self.outbox) {
                    socket.ends(fate);
                }
            }
            What::Soft(fate) => socket.soft_error = Some(fate),
        }
        self.settle(key);
    }
}
