//! BACK-TO-BACK: waits a little longer than the time between segments that follow each other
//! closely (Heidemann, section 2.2: one-way traffic).

use super::{AckMoment, AckVerdict, AckView, Arrival, Rule, reopening};
use crate::time::{Duration, Instant};

/// The wait before anything was measured.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// Longer gaps are not back-to-back.
const LONGEST_GAP: Duration = Duration::from_millis(50);
/// The finest timer available.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

/// Measures the gap between arrivals and delays ACKs by one and a half times as long.
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
