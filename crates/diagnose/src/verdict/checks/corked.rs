//! A write that ends with a full segment is as likely as a cork that begins behind one. A tail that was lost before
//! it came to the capture point is seen first when it is sent again, as late as a corked one. And of many pauses of a
//! sender's own one is as long as the timer.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "corked",
    asks: "Can nothing but a cork have held the tail?",
    passed: "the tail was corked",
    failed: "a program or a loss may have delayed the tail",
    effect: Effect::AtMostPossible,
    origin: Origin::Kernel("Linux, tcp_cork: the tail leaves after icsk_rto"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    if question.kind != Some(Kind::CorkHeld) {
        return Answer::NotAsked;
    }
    let (evidence, hold) = (question.evidence, question.hold);
    let tally = &evidence.half.tally;
    let other = (hold.pushed && hold.flight == hold.mss)
        || (hold.is_far() && tally.retransmitted + tally.missed > 0)
        || (hold.pushed && tally.self_clocked > evidence.half.odds_of(false).hits());
    Answer::of(!other, Saw::Nothing)
}
