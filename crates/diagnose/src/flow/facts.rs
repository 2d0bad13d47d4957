//! What a connection's segments show of the path, the MSS and the roles of the two ends.

use std::net::IpAddr;
use tinygram_stalls::thresholds::{
    CARDS_MSS, ETHERNET_MSS, IPV6_EXTRA_BYTES, JUMBO_LEAST_MSS, JUMBO_MOST_MSS, LEAST_FULL_BYTES,
    LEAST_MSS, LOOPBACK_MSS, NEEDLESS_RETRANSMISSIONS, RELAY_NS, SAME_LENGTHS, TIMESTAMP_BYTES,
};

use super::connection::Connection;
use super::half::{Half, Tally};
use super::hold::Hold;
use tinygram_stalls::{Pieces, Protocol, Roles, Side};

impl Connection {
    /// Returns the round trip between the hosts, if both parts of it are known.
    pub(crate) fn rtt_ns(&self) -> Option<i64> {
        let [a, b] = &self.halves;
        Some(a.receiver_distance_ns()? + b.receiver_distance_ns()?)
    }

    /// Returns whether a handshake has measured both parts of the round trip. Otherwise ACKs alone tell of it, which may
    /// have waited for a program or for a timer: the round trip is no longer than they say.
    pub(crate) fn is_rtt_measured(&self) -> bool {
        self.halves.iter().all(|half| half.path.is_measured())
    }

    /// Returns how long an end's answers take on average beyond the round trip, in nanoseconds; 0 if there was none.
    pub(crate) fn mean_answer_ns(&self, from: usize) -> i64 {
        let mean_ns = self.halves[from].tally.mean_answer_ns();
        match self.is_rtt_measured() {
            true => mean_ns,
            false => (mean_ns - self.rtt_ns().unwrap_or(0)).max(0),
        }
    }

    /// Returns the largest payload of a segment sent by `ends[from]`, in bytes.
    #[inline]
    pub(crate) fn mss(&self, from: usize) -> u32 {
        debug_assert_eq!(self.halves[from].mss, self.mss_of(from));
        self.halves[from].mss
    }

    /// Works out the largest payloads anew, after what they depend on has changed.
    pub(crate) fn settle_mss(&mut self) {
        for from in 0..2 {
            self.halves[from].mss = self.mss_of(from);
        }
    }

    /// Returns whether a SYN told of an MSS.
    #[inline]
    pub(crate) fn offered_mss(&self) -> bool {
        self.halves
            .iter()
            .any(|half| half.path.mss_option.is_some())
    }

    fn mss_of(&self, from: usize) -> u32 {
        let (own, peer) = (&self.halves[from], &self.halves[1 - from]);
        // RFC 6691: the option does not count TCP options; timestamps take twelve bytes of each.
        let stamps = stamps_bytes(own);
        let offered = match (own.path.mss_option, peer.path.mss_option) {
            (None, None) => self.guessed_mss(own),
            (Some(mss), None) | (None, Some(mss)) => u32::from(mss.get()),
            (Some(a), Some(b)) => u32::from(a.min(b).get()),
        };
        offered.saturating_sub(stamps).max(LEAST_MSS)
    }

    /// Guesses the MSS if no handshake was seen: Ethernet's, unless the address is a loopback
    /// address or the lengths show another.
    fn guessed_mss(&self, half: &Half) -> u32 {
        let address = self.ends.ends[0].address();
        let over_ip = |mss: u16| match address.is_ipv6() {
            true => u32::from(mss - IPV6_EXTRA_BYTES),
            false => u32::from(mss),
        };
        if address.is_loopback() {
            return over_ip(LOOPBACK_MSS);
        }
        match half.max_len + stamps_bytes(half) {
            // A length of jumbo frames (9000 bytes) is taken as it is; other lengths may come from
            // offload.
            len @ (JUMBO_LEAST_MSS..=JUMBO_MOST_MSS) => len,
            // On a path with a smaller MTU the same greatest length occurs again and again.
            len @ LEAST_FULL_BYTES..
                if len < u32::from(ETHERNET_MSS) && half.max_seen >= SAME_LENGTHS =>
            {
                len
            }
            _ => over_ip(ETHERNET_MSS),
        }
    }

    /// Returns which end is the client.
    pub(crate) fn client(&self) -> usize {
        let [first, second] = self.ends.ends;
        let roles = Roles {
            accepted: self.client.map(|client| client != 0),
            port: first.port,
            peer_port: second.port,
            ..Roles::default()
        };
        match roles.side() {
            Side::Client => 0,
            Side::Server => 1,
        }
    }

    pub(crate) fn side(&self, end: usize) -> Side {
        match end == self.client() {
            true => Side::Client,
            false => Side::Server,
        }
    }

    /// Returns what the two programs speak, by their first bytes, else by the server's port.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        let server = self.ends.ends[1 - self.client()].port;
        self.protocol.or_else(|| Protocol::by_port(server))
    }

    /// Returns what the last segment of a half and the one that follows it were to the programs.
    pub(crate) fn pieces(&self, from: usize, next: &[u8], next_len: u32) -> Pieces {
        let half = &self.halves[from];
        let protocol = self.protocol();
        let told = protocol.map_or(Pieces::Unknown, |protocol| {
            protocol.pieces(&half.head, half.last_len, next)
        });
        // A segment of that length was answered on its own before, so it is a whole message.
        let whole = |len: u32| half.turns.answered_len == len && len > 0;
        match told {
            Pieces::Unknown if whole(half.last_len) && whole(next_len) => Pieces::Pipelined,
            told => told,
        }
    }

    /// Returns whether the last segment of a TLS server and the next are records of one length right behind the handshake:
    /// session tickets (RFC 8446, section 4.6.1), for which no client waits.
    pub(crate) fn are_tickets(&self, from: usize, hold: &Hold, next: &[u8]) -> bool {
        let half = &self.halves[from];
        let is_record = |head: &[u8]| {
            head.first() == Some(&APPLICATION_DATA)
                && Protocol::Tls.message_len(head) == Some(hold.held_len as usize)
        };
        self.protocol() == Some(Protocol::Tls)
            && from != self.client()
            && half.tally.answers <= 1
            && hold.trigger_len == hold.held_len
            && is_record(&half.head)
            && is_record(next)
    }

    /// Returns whether a relay or a VPN inside the capturing host, or beside it, stands between the ends, by what no
    /// distant host would be or say of itself.
    pub(crate) fn is_relayed(&self) -> bool {
        let [a, b] = [0, 1].map(|end| is_private(self.ends.ends[end].address()));
        match a == b {
            true => {
                let server = 1 - self.client();
                self.is_near(server) && self.is_through_a_made_up_link(server)
            }
            // A public address answers sooner than any route out of a private network allows.
            false => {
                let public = usize::from(a);
                let made_up = self.halves[public].is_made_up();
                self.is_without_router() || (self.is_near(public) && (self.raw_ip || made_up))
            }
        }
    }

    /// Returns whether the receiver delays its ACKs for longer than this sender's retransmission timer takes. Then all
    /// retransmissions are short segments that were alone in flight and that let the next segment go. A loss would meet
    /// the other segments, too: first pieces, second pieces and answers.
    pub(crate) fn delays_for_longer(&self, from: usize) -> bool {
        let needless = |tally: &Tally| tally.overtaken == tally.retransmitted;
        let [own, peer] = [from, 1 - from].map(|end| &self.halves[end].tally);
        own.overtaken >= NEEDLESS_RETRANSMISSIONS && needless(own) && needless(peer)
    }

    /// Returns whether both ends are on one host, by their addresses.
    pub(crate) fn is_loopback(&self) -> bool {
        let [a, b] = [0, 1].map(|end| self.ends.ends[end].address());
        a == b || (a.is_loopback() && b.is_loopback())
    }

    /// Returns whether an end has a private address, and its peer a public one.
    pub(crate) fn is_private_to_public(&self, from: usize) -> bool {
        let [own, peer] = [from, 1 - from].map(|end| is_private(self.ends.ends[end].address()));
        own && !peer
    }

    fn is_near(&self, end: usize) -> bool {
        let distance_ns = self.halves[1 - end].receiver_distance_ns();
        distance_ns.is_some_and(|ns| ns < RELAY_NS)
    }

    /// Returns whether the link is one that only a relay within a host makes: its server's MSS is larger than any
    /// network card's and is not the loopback device's, or it is a TUN device with an address for tests.
    fn is_through_a_made_up_link(&self, server: usize) -> bool {
        let [a, b] = [0, 1].map(|end| self.ends.ends[end].address());
        let loopback = if a.is_ipv6() {
            LOOPBACK_MSS - IPV6_EXTRA_BYTES
        } else {
            LOOPBACK_MSS
        };
        let mss = self.halves[server].path.offered_mss();
        let elsewhere = a != b && !a.is_loopback();
        (elsewhere && (CARDS_MSS + 1..loopback).contains(&mss))
            || (self.raw_ip && (is_for_tests(a) || is_for_tests(b)))
    }

    /// Returns whether the SYNs of a private and a public address passed no router, with which each way between them
    /// begins. A relay may have asked a distant host before it answered.
    fn is_without_router(&self) -> bool {
        self.halves.iter().all(Half::is_as_it_left)
    }
}

/// Returns what timestamps take of each of a sender's segments, in bytes.
fn stamps_bytes(half: &Half) -> u32 {
    match half.timestamps {
        true => TIMESTAMP_BYTES.into(),
        false => 0,
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            // RFC 6598 shares 100.64.0.0/10 among the customers of a provider.
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || (a == 100 && b & 0xc0 == 64)
                || is_for_tests(address)
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// Returns whether an address is in 198.18.0.0/15, which RFC 2544 keeps for tests of devices. Proxies give such
/// addresses to their TUN devices.
fn is_for_tests(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[0] == 198 && v4.octets()[1] & 0xfe == 18,
        IpAddr::V6(_) => false,
    }
}

/// The type of TLS records that hide what they are (RFC 8446, section 5.1).
const APPLICATION_DATA: u8 = 23;

#[cfg(test)]
mod tests;
