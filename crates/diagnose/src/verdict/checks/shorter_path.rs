//! The handshake or another ACK has measured a path that is shorter by a timer.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::{Path, Question};
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "shorter-path",
    asks: "Is the path shorter than the ACK took?",
    passed: "the path is shorter, or the ACK is on a timer",
    failed: "every ACK takes as long: the path is slow",
    effect: Effect::RulesOut(Lookalike::LateAck),
    origin: Origin::Assumed("a timer adds to the path what a handshake does not have"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let saw = Saw::time(hold.ack_wait_ns, evidence.path_ns());
    Answer::of(evidence.path(hold) != Path::AsLong, saw)
}
