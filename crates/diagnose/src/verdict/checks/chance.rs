//! Unrelated data leaves at any time, and now and then close behind an ACK. Most late ACKs that small data follows
//! closely are delayed ones that released it. If a missing PSH tells that the segment was ready, this is not asked.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use tinygram_stalls::thresholds::Origin;
use tinygram_stalls::thresholds::doubt;

pub(crate) static CHECK: Check = Check {
    name: "chance",
    asks: "Is it more than an accident that it left upon the ACK?",
    passed: "it is more than an accident",
    failed: "an accident would produce as much too often",
    effect: Effect::PossibleAlone,
    origin: Origin::Assumed("Poisson's law over all occasions (flow/odds.rs)"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let hold = question.hold;
    if hold.more_ready {
        return Answer::NotAsked;
    }
    let accident = question.turn.accident[usize::from(hold.prompt)];
    let bound = doubt(hold.prompt);
    Answer::of(accident < bound, Saw::chance(accident, bound))
}
