//! A kernel lets a held segment go at once. What fits four times as loosely as two thirds of the others do had a
//! reason of its own.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::{Question, is_ready};
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "habit",
    asks: "Does it fit as closely as the others of this sender do?",
    passed: "it fits as closely as the others",
    failed: "it fits more loosely than the others, and had a reason of its own",
    effect: Effect::PossibleAlone,
    origin: Origin::Fitted("random captures that were looked at"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if is_ready(hold) {
        return Answer::NotAsked;
    }
    let odds = evidence.half.odds_of(hold.prompt);
    let fits = odds.vouches_for(hold.off_ns, evidence.blur_ns);
    let loosest_ns = odds.loosest_ns(evidence.blur_ns);
    Answer::of(fits, Saw::time(hold.off_ns, loosest_ns))
}
