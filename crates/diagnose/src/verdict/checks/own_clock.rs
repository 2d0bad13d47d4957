//! A program that writes on a clock of its own is held, too, and nobody waits for it.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "own-clock",
    asks: "Does the sender write more often for an answer than by its own clock?",
    passed: "it answers more often than it writes by itself",
    failed: "the sender writes on its own clock",
    effect: Effect::RulesOut(Lookalike::PeriodicSender),
    origin: Origin::Assumed("the more frequent habit decides"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    let tally = &evidence.half.tally;
    let waits = evidence.never_unasked && evidence.answered_at_once(hold);
    let bound = tally.answers + evidence.hits();
    Answer::of(
        tally.self_clocked <= bound || waits,
        Saw::Count(tally.self_clocked, bound),
    )
}
