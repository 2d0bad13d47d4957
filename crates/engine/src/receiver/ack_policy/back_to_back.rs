//! BACK-TO-BACK: wait a little longer than segments that follow each other closely are apart
//! (Heidemann, section 2.2: one-way traffic).

use super::{AckMoment, AckVerdict, AckView, Arrival, Rule, reopening};
use crate::time::{Duration, Instant};

/// Before anything was measured, and the bounds of what may be.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// Gaps longer than this are not back-to-back.
const LONGEST_GAP: Duration = Duration::from_millis(50);
/// Timers finer than this are not to be had.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

/// Measures the gap between arrivals and delays by one and a half of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackToBack {
    last_arrival: Option<Instant>,
    gap: Option<Duration>,
    unacknowledged: u64,
}

impl Rule for BackToBack {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        if let Some(last) = self.last_arrival.replace(view.now) {
            self.measure(view.now.since(last));
        }
        self.unacknowledged += u64::from(arrival.len);
        if self.unacknowledged >= 2 * u64::from(view.mss) {
            return AckVerdict::Now;
        }
        let wait = self.gap.map_or(FIRST_WAIT, |gap| {
            gap + Duration::from_nanos(gap.as_nanos() / 2)
        });
        AckVerdict::DelayUntil(view.now + wait.max(SHORTEST_WAIT))
    }

    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        reopening(view)
    }

    fn observe(&mut self, moment: AckMoment, _: &AckView) {
        if let AckMoment::AckSent { .. } = moment {
            self.unacknowledged = 0;
        }
    }
}

impl BackToBack {
    /// Smooths with RFC 6298's weight.
    fn measure(&mut self, gap: Duration) {
        if gap > LONGEST_GAP {
            return;
        }
        let smooth = |old: Duration| (7 * old.as_nanos() + gap.as_nanos()) / 8;
        self.gap = Some(
            self.gap
                .map_or(gap, |old| Duration::from_nanos(smooth(old))),
        );
    }
}
