//! Where nothing but the ACKs themselves tells how long the path is, a late ACK is perhaps delayed.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::{Path, Question};
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "path-measured",
    asks: "Does anything but the late ACKs tell how long the path is?",
    passed: "the path was measured",
    failed: "nothing but the late ACKs tells how long the path is",
    effect: Effect::AtMostPossible,
    origin: Origin::Assumed("ACKs are no witnesses against themselves"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    Answer::of(evidence.path(hold) != Path::Perhaps, Saw::Nothing)
}
