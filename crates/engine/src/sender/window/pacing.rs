//! Pacing as on Linux: the rate that spreads a window over a round trip, and departures at this
//! rate (`tcp_update_pacing_rate`, `tcp_update_skb_after_send`).

use crate::time::{Duration, Instant};

/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent.
const SLOW_START: u128 = 200;
const AVOIDANCE: u128 = 120;
/// The most octets that the kernel hands over together (`sk_gso_max_size`).
pub(crate) const MOST_IN_A_BURST: u64 = 65_000;
/// The number of segments of a connection that leave before pacing begins.
const UNPACED: u64 = 10;

/// When the next burst may leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// `tcp_wstamp_ns`.
    next: Instant,
    /// Whether something is ready and waits for `next`.
    waiting: bool,
    /// How many segments still belong to the present burst.
    left: usize,
    /// How much later than possible the burst came.
    credit: Duration,
}

/// A segment that is ready to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// Its octets of data.
    pub(crate) len: u32,
    /// The data segments that left before it.
    pub(crate) sent_before: u64,
    /// The least number of segments that are handed over together.
    pub(crate) least_burst: u64,
}

/// Returns the rate in octets per second that spreads `flight` octets over a round trip
/// (`tcp_update_pacing_rate`). After round trips that took no time there is no limit.
pub(crate) fn rate(flight: u64, srtt: Duration, slow_start: bool) -> u64 {
    if srtt == Duration::ZERO {
        return u64::MAX;
    }
    let percent = match slow_start {
        true => SLOW_START,
        false => AVOIDANCE,
    };
    let rate = u128::from(flight) * percent * 10_000_000 / u128::from(srtt.as_nanos());
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl Pacer {
    /// Begins a burst.
    pub(crate) fn begin_burst(&mut self) {
        self.left = 0;
    }

    /// Returns whether a segment may leave now, in bursts of `burst` segments; if so, counts it as
    /// leaving.
    pub(crate) fn lets_leave(
        &mut self,
        departure: &Departure,
        burst: usize,
        rate: Option<u64>,
        now: Instant,
    ) -> bool {
        if self.left == 0 {
            self.waiting = self.next > now;
            if self.waiting {
                return false;
            }
            self.left = burst.max(1);
            self.credit = now.since(self.next);
            self.next = now;
        }
        self.left -= 1;
        let first = departure.sent_before + 1 < UNPACED;
        if let Some(rate) = rate
            && !first
        {
            let whole = u64::from(departure.len) * 1_000_000_000 / rate.max(1);
            // Up to half of the time is made up for by having come late.
            let whole = Duration::from_nanos(whole);
            let spared = Duration::from_nanos(whole.as_nanos() / 2).min(self.credit);
            self.credit = self.credit - spared;
            self.next += whole - spared;
        }
        true
    }

    /// Returns when what waits may leave.
    #[inline]
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        self.waiting.then_some(self.next)
    }

    /// Clears the waiting mark.
    pub(crate) fn stop_waiting(&mut self) {
        self.waiting = false;
    }
}
