//! Path MTU discovery: a router reported that a packet was too big (RFC 1191, RFC 8201).

use super::Sender;
use super::scoreboard::Judged;

impl Sender {
    /// Limits segments to `mss` octets, options included. Called before the handshake.
    pub(crate) fn limit_mss(&mut self, mss: u32) {
        let segments = self.own_initial_cwnd / u64::from(self.own_mss.max(1));
        if mss < self.own_mss {
            self.own_mss = mss.max(1);
            self.own_initial_cwnd = segments * u64::from(self.own_mss);
            self.initial_cwnd = self.own_initial_cwnd;
            self.vars.cwnd = self.initial_cwnd;
            self.vars.mss = self.own_mss;
            self.bound_initial_cwnd();
        }
    }

    /// Handles the report that the path takes segments of at most `mss` octets, options included.
    /// Longer ones were lost, though not to congestion: their data is sent again, and the window
    /// stays (RFC 1191, section 6.5; Linux: `tcp_simple_retransmit`). Returns whether anything must
    /// be sent.
    pub(crate) fn learn_path_mss(&mut self, mss: u32) -> bool {
        let before = self.vars.mss;
        let mss = mss.saturating_sub(self.option_octets).max(1);
        if mss >= before {
            return false;
        }
        self.vars.mss = mss;
        if self.vars.idle() {
            return false;
        }
        match &mut self.selective {
            Some(selective) => selective.board.judge(|t| {
                match t.span.len() > u64::from(mss) && !t.sacked && !t.lost {
                    true => Judged::Lost,
                    false => Judged::InFlight,
                }
            }),
            None => self.vars.nxt = self.vars.una,
        }
        self.resend.set_wanted(self.selective.is_some());
        self.resend.force_one();
        self.rtt.distrust();
        true
    }
}
