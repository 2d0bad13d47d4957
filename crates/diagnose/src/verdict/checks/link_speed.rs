//! A slow link needs time for the bytes, and nobody delays their ACK.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::LEAST_DELAY_NS;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "link-speed",
    asks: "Did a slow link need the time for the bytes?",
    passed: "the link is faster than that",
    failed: "the bytes took that long to cross a slow link",
    effect: Effect::RulesOut(Lookalike::SlowLink),
    origin: Origin::Fact("serialisation: the bytes at the pace of this link"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let carried_ns = evidence.half.path.carries_ns(hold.flight.into());
    let left_ns = (evidence.beyond_ns(hold) - carried_ns).max(hold.step_ns);
    Answer::of(
        left_ns >= LEAST_DELAY_NS,
        Saw::time(left_ns, LEAST_DELAY_NS),
    )
}
