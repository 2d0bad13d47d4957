//! A sender that holds three times in one turn produces its data as it goes. What ends a stream and is answered
//! was waited for, whatever became of the rest. Asked in `story.rs`, too, of a sender that went on.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "stream",
    asks: "Is it a message, or one piece of a stream?",
    passed: "it is no piece of a stream",
    failed: "the sender writes as it goes",
    effect: Effect::RulesOut(Lookalike::PeriodicSender),
    origin: Origin::Rfc("896: data that was ready needs one hold, with a last piece two"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let hold = question.hold;
    let ends = question.is_last && question.evidence.answered_at_once(hold);
    let piece = question.turn.streams && !hold.chained && !ends;
    Answer::of(!piece, Saw::Nothing)
}
