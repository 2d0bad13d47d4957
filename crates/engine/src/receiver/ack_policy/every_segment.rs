//! EVERY-SEGMENT: no delay at all (`ip route ... quickack 1` on Linux).

use super::{AckVerdict, AckView, Arrival, Rule, reopening};

/// It remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct EverySegment;

impl Rule for EverySegment {
    fn on_arrival(&mut self, _: &Arrival, _: &AckView) -> AckVerdict {
        AckVerdict::Now
    }

    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        reopening(view)
    }
}
