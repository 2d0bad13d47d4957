//! Pacing as on Linux: the rate that spreads a window over a round trip, and departures at this
//! rate (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`).

use super::Sender;
use crate::time::{Duration, Instant};

/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent.
const SLOW_START: u128 = 200;
const AVOIDANCE: u128 = 120;
/// The number of segments of a connection that leave before pacing begins.
const UNPACED: u64 = 10;

/// When the next burst may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// `tcp_wstamp_ns`.
    next: Instant,
    /// Whether something is ready and waits for `next`.
    waiting: bool,
    /// How many segments still belong to the present burst.
    left: usize,
    /// How much later than possible the burst came.
    credit: Duration,
}

impl Sender {
    /// Returns the rate in octets per second (`tcp_update_pacing_rate`), once a round trip was
    /// measured. After round trips that took no time there is no limit.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        let vars = &self.vars;
        let srtt = self.rtt.srtt()?;
        if srtt == Duration::ZERO {
            return Some(u64::MAX);
        }
        let percent = match vars.cwnd < vars.ssthresh / 2 {
            true => SLOW_START,
            false => AVOIDANCE,
        };
        let flight = u128::from(vars.cwnd.max(vars.outstanding()));
        let rate = flight * percent * 10_000_000 / u128::from(srtt.as_nanos());
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Begins a burst: what leaves in one pass is handed to the device together.
    #[inline]
    pub(super) fn begin_burst(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.left = 0;
        }
    }

    /// Returns whether a segment with `len` octets may leave now; if so, counts it as leaving.
    #[inline]
    pub(super) fn leaves_by_rate(&mut self, len: u32) -> bool {
        self.pacer.is_none() || self.ask_the_pacer(len)
    }

    fn ask_the_pacer(&mut self, len: u32) -> bool {
        let burst = self.burst();
        let rate = self.pacing_rate();
        let (now, first) = (self.vars.now, self.counters.data_segments + 1 < UNPACED);
        let Some(pacer) = &mut self.pacer else {
            return true;
        };
        if pacer.left == 0 {
            pacer.waiting = pacer.next > now;
            if pacer.waiting {
                return false;
            }
            pacer.left = burst.max(1);
            pacer.credit = now.since(pacer.next);
            pacer.next = now;
        }
        pacer.left -= 1;
        if let Some(rate) = rate
            && !first
        {
            let whole = u64::from(len) * 1_000_000_000 / rate.max(1);
            // Up to half of the time is made up for by having come late.
            let whole = Duration::from_nanos(whole);
            let spared = Duration::from_nanos(whole.as_nanos() / 2).min(pacer.credit);
            pacer.credit = pacer.credit - spared;
            pacer.next += whole - spared;
        }
        true
    }

    /// Returns when what waits may leave.
    #[inline]
    pub(super) fn pacer_deadline(&self) -> Option<Instant> {
        let pacer = self.pacer.as_ref().filter(|pacer| pacer.waiting);
        pacer.map(|pacer| pacer.next)
    }

    /// Clears the waiting mark; the next pass finds out whether anything waits.
    pub(super) fn stop_waiting_for_the_pacer(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.waiting = false;
        }
    }
}
