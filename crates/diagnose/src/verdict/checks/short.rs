//! Nagle's rule does not hold a full segment. Where no SYN told the MSS, a long one may be full.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "short",
    asks: "Is the held segment known to be short?",
    passed: "it is short, or the MSS is known",
    failed: "it may be a full segment, for no SYN told the MSS",
    effect: Effect::AtMostPossible,
    origin: Origin::Rfc("9293, section 3.7.1"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    Answer::of(!question.hold.may_be_full, Saw::Nothing)
}
