//! No more than a buffer holds is ever in flight. A sender that had, or later has, much more in flight has no buffer of
//! that size: growing flights are slow start. Asked again at the end of the connection.

use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::Origin;

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::kinds::small_buffer;
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "largest-flight",
    asks: "Was never more in flight than this buffer holds?",
    passed: "never more was in flight",
    failed: "much more was in flight at another time, as slow start grows",
    effect: Effect::RulesOut(Lookalike::RoundTrip),
    origin: Origin::Rfc("5681, section 3.1"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (half, hold) = (question.evidence.half, question.hold);
    match question.kind {
        Some(Kind::SmallBuffer) => {
            let saw = Saw::Count(half.peak_flight, bound(hold));
            Answer::of(!is_exceeded(half, hold), saw)
        }
        _ => Answer::NotAsked,
    }
}

/// Returns whether the sender has had much more in flight than the buffer that is said to be small holds.
pub(crate) fn is_exceeded(half: &Half, hold: &Hold) -> bool {
    !small_buffer::is_receivers(hold) && half.peak_flight >= bound(hold)
}

/// Returns the most bytes in flight that the buffer explains: two segments more than the hold's flight, because a
/// buffer is filled by whole writes.
fn bound(hold: &Hold) -> u32 {
    hold.flight.saturating_add(2 * hold.mss)
}
