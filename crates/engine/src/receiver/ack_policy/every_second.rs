//! EVERY-SECOND: at least every second full-sized segment (RFC 1122, section 4.2.3.2).

use super::{AckMoment, AckVerdict, AckView, Arrival, Rule, reopening};

/// Acknowledges when two full segments' worth of octets have arrived since the last ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct EverySecond {
    unacknowledged: u64,
}

impl Rule for EverySecond {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.unacknowledged += u64::from(arrival.len);
        if self.unacknowledged >= 2 * u64::from(view.mss) {
            AckVerdict::Now
        } else {
            AckVerdict::Delay
        }
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
