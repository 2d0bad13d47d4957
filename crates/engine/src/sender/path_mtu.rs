//! Path MTU discovery: a router reported that a packet was too big (RFC 1191, RFC 8201).

use alloc::boxed::Box;

use super::Sender;
use super::scoreboard::Judged;
use crate::time::{Duration, Instant};

/// How long a report holds (RFC 1191, section 6.3; RFC 8201, section 4: ten minutes).
const LIFE: Duration = Duration::from_secs(600);

/// A limit that a router reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathLimit {
    until: Instant,
    /// The largest segment without it, in octets, options included.
    mss: u32,
}

impl PathLimit {
    /// Bounds what returns after the limit.
    pub(super) fn bound(&mut self, mss: u32) {
        self.mss = self.mss.min(mss);
    }
}

impl Sender {
    /// Tries larger segments again, if the time of a router's report is over. If the path still
    /// does not take them, the next report says so. A search that is on tries them by probes alone.
    #[inline]
    pub(super) fn mind_the_path_limit(&mut self) {
        if let Some(limit) = &self.path_limit
            && self.vars.now >= limit.until
        {
            self.lift_the_path_limit();
        }
    }

    #[cold]
    fn lift_the_path_limit(&mut self) {
        if let Some(limit) = self.path_limit.take() {
            if let Some(search) = self.path_search.as_mut().filter(|it| it.is_on()) {
                search.limit_is_over(limit.mss);
                return;
            }
            let mss = limit.mss.saturating_sub(self.option_octets);
            self.vars.mss = self.vars.mss.max(mss);
            // Otherwise no full segment would fit into a window that was cut to one of the small.
            let segment = u64::from(self.vars.mss);
            self.vars.cwnd = self.vars.cwnd.max(segment);
            self.initial_cwnd = self.initial_cwnd.max(segment);
        }
    }

    fn remember_the_path_limit(&mut self, before: u32, until: Instant) {
        if self.path_mss_expires && until < Instant::FAR_FUTURE {
            let mss = self.path_limit.as_ref().map_or(before, |old| old.mss);
            self.path_limit = Some(Box::new(PathLimit { until, mss }));
        }
    }

    /// Limits segments to `mss` octets, options included, up to `until`. Called before the
    /// handshake.
    pub(crate) fn limit_mss(&mut self, mss: u32, until: Instant) {
        if mss < self.own_mss {
            self.remember_the_path_limit(self.own_mss, until);
        }
        let segments = self.own_initial_cwnd / u64::from(self.own_mss.max(1));
        if mss < self.own_mss {
            if let Some(search) = &mut self.path_search {
                search.path_is_known();
            }
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
        if let Some(search) = &mut self.path_search {
            search.reported(self.vars.now, mss);
        }
        let before = self.vars.mss;
        let mss = mss.saturating_sub(self.option_octets).max(1);
        if mss >= before {
            return false;
        }
        let until = self.vars.now + LIFE;
        self.remember_the_path_limit(before + self.option_octets, until);
        self.vars.mss = mss;
        // The data of a probe may leave again in smaller segments, and its ACK would be theirs.
        self.path_probe_is_inconclusive();
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
        self.resegment();
        self.resend.set_wanted(self.selective.is_some());
        self.resend.force_one();
        self.rtt.distrust();
        true
    }
}
