//! How long an acknowledgment may wait.

use crate::time::{Duration, Instant};

/// The clock of delayed ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTimer {
    /// BSD's fast timer: a tick that runs freely, whatever the connection does. A delayed ACK
    /// leaves at the next tick (Mogul & Minshall, section 3.2).
    Cyclic {
        /// The time between two ticks; 200 ms in BSD.
        period: Duration,
        /// The time of the first tick after the epoch.
        phase: Duration,
        /// A slower tick in phase with it that also flushes.
        slow: Option<SlowTick>,
    },
    /// A timer per connection, started when the ACK is first delayed.
    PerConnection(
        /// Its length.
        Duration,
    ),
}

/// BSD's slow timer as far as it flushes delayed ACKs (footnote 2 of Mogul & Minshall).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowTick {
    /// The time between two ticks; 500 ms in BSD.
    pub period: Duration,
    /// How many of 1000 ticks flush.
    pub share_per_mille: u32,
    /// The seed that decides which ticks flush, so that the same run has the same ticks.
    pub seed: u64,
}

impl AckTimer {
    /// The time between two ticks of BSD's fast timer (TCP_FASTTIMO; Moldeklev & Gunningberg, section 2.2:
    /// "cyclically generated every 200 ms").
    pub const BSD_TICK: Duration = Duration::from_millis(200);

    /// That timer.
    pub const BSD: Self = Self::Cyclic {
        period: Self::BSD_TICK,
        phase: Duration::ZERO,
        slow: None,
    };

    /// Returns whether the timer runs freely.
    #[must_use]
    #[inline]
    pub fn is_cyclic(&self) -> bool {
        matches!(self, Self::Cyclic { .. })
    }

    /// Returns whether the timer can work: periods are not 0, and no more than 1000 of 1000 slow
    /// ticks flush.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::PerConnection(_) => true,
            Self::Cyclic { period, slow, .. } => {
                let is_sound =
                    |slow: &SlowTick| slow.period > Duration::ZERO && slow.share_per_mille <= 1000;
                *period > Duration::ZERO && slow.as_ref().is_none_or(is_sound)
            }
        }
    }

    /// Returns the latest time at which an ACK that is first delayed at `now` leaves.
    #[must_use]
    pub fn deadline(&self, now: Instant) -> Instant {
        match self {
            Self::PerConnection(length) => now + *length,
            Self::Cyclic {
                period,
                phase,
                slow,
            } => {
                let fast = next_tick(now, *period, *phase);
                slow.and_then(|slow| slow.next_before(fast, now, *phase))
                    .unwrap_or(fast)
            }
        }
    }
}

/// Returns the first tick after `now`.
fn next_tick(now: Instant, period: Duration, phase: Duration) -> Instant {
    let period = period.as_nanos().max(1);
    let phase = phase.as_nanos() % period;
    let since_phase = now.as_nanos() + period - phase;
    Instant::from_nanos(now.as_nanos() + period - since_phase % period)
}

impl SlowTick {
    /// Returns the first flushing tick after `now` and before `fast`.
    fn next_before(&self, fast: Instant, now: Instant, phase: Duration) -> Option<Instant> {
        let tick = next_tick(now, self.period, phase);
        (tick < fast && self.flushes(tick)).then_some(tick)
    }

    /// Returns whether the tick at this time flushes: a hash of seed and time (SplitMix64's finaliser).
    fn flushes(&self, tick: Instant) -> bool {
        let mut x = self.seed ^ tick.as_nanos();
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        x % 1000 < u64::from(self.share_per_mille)
    }
}
