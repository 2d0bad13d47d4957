//! Only a hold that a known rule explains is a stall; one file per kind below `kinds/`.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "known-kind",
    asks: "Does a known rule explain the hold?",
    passed: "a known rule explains it",
    failed: "no known rule explains it",
    effect: Effect::RulesOut(Lookalike::Uncorroborated),
    origin: Origin::Paper("the kinds of the book: diagnose, each with its source"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    Answer::of(question.kind.is_some(), Saw::Nothing)
}
