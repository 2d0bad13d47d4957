//! An ACK takes the way and back at least. Without a handshake the fastest ACK bounds the way and does not measure it: all
//! ACKs may have waited for a timer. That the segment was held stays true, but not that nobody delayed the ACK.
//! Asked in `pool.rs`, too.

use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::Origin;

use crate::flow::hold::Hold;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;

pub(crate) static CHECK: Check = Check {
    name: "bounded-path",
    asks: "Did a handshake measure the round trip that the ACK took?",
    passed: "a handshake measured the round trip",
    failed: "ACKs alone tell how long the round trip is, and all of them may have been delayed",
    effect: Effect::AtMostLikely,
    origin: Origin::Fact("an ACK takes the round trip at least, so its time is a bound of it"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    question
        .kind
        .map_or(Answer::NotAsked, |kind| of(kind, question.hold))
}

/// Answers for a hold of a kind. What waited for a late ACK waited as long or longer on a shorter way.
pub(crate) fn of(kind: Kind, hold: &Hold) -> Answer {
    match kind {
        Kind::NagleRoundTrip => Answer::of(hold.path_measured, Saw::Nothing),
        _ => Answer::NotAsked,
    }
}
