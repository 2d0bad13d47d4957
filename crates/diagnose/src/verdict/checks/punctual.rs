//! A kernel's timer is punctual; a program's disk is not.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "punctual",
    asks: "Did the tails wait as long each time?",
    passed: "the tails waited as long each time",
    failed: "one tail alone may be a pause of the program's",
    effect: Effect::PossibleAlone,
    origin: Origin::Kernel("Linux, icsk_rto"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    match (question.kind, question.hold.more_ready) {
        (Some(Kind::CorkHeld), false) => Answer::of(question.turn.punctual, Saw::Nothing),
        _ => Answer::NotAsked,
    }
}
