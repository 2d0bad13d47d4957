//! REVERSE-DATA: Nagle's proposal to delay ACKs only if data flows back (Mogul & Minshall, section
//! 9, second item).

use super::{AckMoment, AckVerdict, AckView, Arrival, Rule, reopening};

/// ACKs are delayed after this many ACKs that a data segment could have carried. The paper does not
/// state the number; with one, the policy would react to every coincidence.
const THRESHOLD: u32 = 2;

/// Acknowledges every full-sized segment until it has learned that its ACKs could have waited for
/// data going back. If the delayed-ACK timer fires, what it learned was wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReverseData {
    /// How often data directly followed a bare ACK.
    wasted: u32,
    last_was_only_ack: bool,
    unacknowledged: u64,
}

impl Rule for ReverseData {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.unacknowledged += u64::from(arrival.len);
        let patience = if self.wasted >= THRESHOLD { 2 } else { 1 };
        let enough = patience * u64::from(view.mss);
        if self.unacknowledged >= enough {
            AckVerdict::Now
        } else {
            AckVerdict::Delay
        }
    }

    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        reopening(view)
    }

    fn observe(&mut self, moment: AckMoment, _: &AckView) {
        match moment {
            AckMoment::AckSent { with_data: true } => {
                self.wasted += u32::from(self.last_was_only_ack);
                self.last_was_only_ack = false;
                self.unacknowledged = 0;
            }
            AckMoment::AckSent { with_data: false } => {
                self.last_was_only_ack = true;
                self.unacknowledged = 0;
            }
            AckMoment::TimerFired => self.wasted = 0,
            AckMoment::QuickAck(_) => {}
        }
    }
}
