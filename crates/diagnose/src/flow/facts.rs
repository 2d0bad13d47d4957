//! What a connection's segments say of the path, the MSS and the roles.

use super::connection::Connection;
use super::half::Half;
use crate::vocabulary::{Protocol, Side};

impl Connection {
    /// Round trip between the hosts, if both parts of it are known.
    pub(crate) fn rtt_ns(&self) -> Option<i64> {
        let [a, b] = &self.halves;
        Some(a.receiver_distance_ns()? + b.receiver_distance_ns()?)
    }

    /// Largest payload of a segment sent by `ends[from]`, in bytes.
    #[inline]
    pub(crate) fn mss(&self, from: usize) -> u32 {
        let (own, peer) = (&self.halves[from], &self.halves[1 - from]);
        // RFC 6691: the option does not count TCP options; timestamps take twelve bytes of each.
        let stamps = if own.timestamps { 12 } else { 0 };
        let offered = match (own.mss_option, peer.mss_option) {
            (0, 0) => self.guessed_mss(own),
            (mss, 0) | (0, mss) => u32::from(mss),
            (a, b) => u32::from(a.min(b)),
        };
        offered.saturating_sub(stamps).max(88)
    }

    /// Without a handshake: Ethernet's, unless the address is the host's own.
    fn guessed_mss(&self, half: &Half) -> u32 {
        if self.ends.ends[0].address().is_loopback() {
            return 65_483;
        }
        let v6 = self.ends.ends[0].address().is_ipv6();
        let ethernet = if v6 { 1_440 } else { 1_460 };
        let stamps = if half.timestamps { 12 } else { 0 };
        // Jumbo frames of 9000 bytes give themselves away; other lengths may be offload.
        match half.max_len + stamps {
            len @ (8_900..=8_960) => len,
            _ => ethernet,
        }
    }

    /// Which end is the client: by the SYN, else by the ports, of which the lower is the service's.
    pub(crate) fn client(&self) -> usize {
        if let Some(client) = self.client {
            return usize::from(client);
        }
        let [a, b] = self.ends.ends;
        let service = |port: u16| port < 1024;
        match (service(a.port), service(b.port)) {
            (true, false) => 1,
            (false, true) => 0,
            _ => usize::from(a.port < b.port),
        }
    }

    pub(crate) fn side(&self, end: usize) -> Side {
        match end == self.client() {
            true => Side::Client,
            false => Side::Server,
        }
    }

    /// What the two programs speak, by their first bytes, else by the server's port.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        let server = self.ends.ends[1 - self.client()].port;
        self.protocol.or_else(|| Protocol::by_port(server))
    }
}
