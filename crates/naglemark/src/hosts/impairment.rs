//! What happens to segments beyond being carried.

use serde::Serialize;
use tinygram_engine::Duration;
use tinygram_sim::medium::ImpairmentRules;

/// The probabilities, each from 0 to 1, of what happens to a segment on its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Impairment {
    /// That it is lost.
    pub loss: f64,
    /// That later ones overtake it.
    pub reorder: f64,
    /// That it arrives twice.
    pub duplicate: f64,
}

impl Impairment {
    /// Nothing happens.
    pub const NONE: Self = Self {
        loss: 0.0,
        reorder: 0.0,
        duplicate: 0.0,
    };

    /// Returns the simulator's rules, with half of `rtt` each way; what is overtaken is held back by `reorder_by`.
    pub(crate) fn rules(self, rtt: Duration, reorder_by: Duration) -> ImpairmentRules {
        ImpairmentRules {
            delay: Duration::from_nanos(rtt.as_nanos() / 2),
            loss: self.loss,
            reorder: self.reorder,
            reorder_by,
            duplicate: self.duplicate,
        }
    }
}
