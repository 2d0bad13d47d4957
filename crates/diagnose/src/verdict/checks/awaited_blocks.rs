//! Whoever pauses by a clock of its own writes reports; a stream that never does is awaited.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "awaited-blocks",
    asks: "Does a reader wait for these blocks?",
    passed: "a reader waits, or has spoken",
    failed: "blocks by a clock of the sender's own, to a peer that never spoke",
    effect: Effect::RulesOut(Lookalike::NobodyWaited),
    origin: Origin::Fitted("random captures with small buffers"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, turn) = (question.evidence, question.turn);
    if !turn.bulk {
        return Answer::NotAsked;
    }
    let reports =
        turn.by_a_clock && evidence.answered_ns.is_none() && !evidence.half.turns.was_asked();
    Answer::of(!reports, Saw::Nothing)
}
