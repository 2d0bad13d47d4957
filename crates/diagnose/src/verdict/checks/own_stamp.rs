//! A segment with the TSval of the data before it left together with that, and came late, if the sender's clock ticks
//! faster.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "own-stamp",
    asks: "Did it leave after the data before it?",
    passed: "its timestamp is its own",
    failed: "it has the timestamp of the data before it, and may have left with that",
    effect: Effect::AtMostPossible,
    origin: Origin::Rfc("7323, section 4.1"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    Answer::of(!question.hold.same_stamp, Saw::Nothing)
}
