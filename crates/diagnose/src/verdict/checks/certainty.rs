//! What an accident would produce once in a thousand times is certain to be none. Asked in `pool.rs`, too, of several connections together.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::thresholds::CERTAIN;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "certainty",
    asks: "Is an accident excluded?",
    passed: "an accident is excluded",
    failed: "an accident would produce as much more than once in a thousand times",
    effect: Effect::AtMostLikely,
    origin: Origin::Assumed("one in a thousand"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let accident = question.turn.accident[usize::from(question.hold.prompt)];
    Answer::of(accident < CERTAIN, Saw::chance(accident, CERTAIN))
}
