//! A sender that took the turn by its own clock kept nobody waiting, unless it is answered at once.

use crate::flow::half::Turn;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "own-turn",
    asks: "Was the sender asked, or is it answered at once?",
    passed: "somebody waited for it",
    failed: "the sender began by itself, and the peer did not answer it at once",
    effect: Effect::RulesOut(Lookalike::NobodyWaited),
    origin: Origin::Assumed("who writes unasked and unanswered keeps nobody waiting"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    let alone = evidence.half.turns.turn == Turn::SelfClocked && !evidence.answered_at_once(hold);
    Answer::of(!alone, Saw::Nothing)
}
