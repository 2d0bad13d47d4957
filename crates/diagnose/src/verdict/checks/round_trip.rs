//! A prompt ACK costs a round trip of a long path if Nagle's rule alone held the segment.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::kinds::nagle_round_trip;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "round-trip",
    asks: "Did Nagle's rule cost a whole round trip of a long path?",
    passed: "a round trip was lost, and no window was in the way",
    failed: "one round trip, and no delayed-ACK timer",
    effect: Effect::RulesOut(Lookalike::RoundTrip),
    origin: Origin::Rfc("896"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if !evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let lost = nagle_round_trip::is(hold, evidence.half, evidence.answered_ns);
    Answer::of(lost, Saw::Nothing)
}
