//! The window of the sender alone does not tell a buffer from congestion: only flights of one size do, again and again.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "same-flights",
    asks: "Do flights of one size come again and again?",
    passed: "flights of one size come again and again",
    failed: "one flight is no buffer's size",
    effect: Effect::PossibleAlone,
    origin: Origin::Paper(
        "Moldeklev and Gunningberg 1995: a full buffer lets the same flight go each time",
    ),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    match question.kind {
        Some(Kind::SmallBuffer) => Answer::of(question.turn.bulk, Saw::Nothing),
        _ => Answer::NotAsked,
    }
}
