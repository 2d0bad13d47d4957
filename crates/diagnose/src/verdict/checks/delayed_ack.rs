//! An ACK that a receiver has delayed is late by 20 ms at least, and by a second at most.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;
use tinygram_stalls::thresholds::{LEAST_DELAY_NS, LONGEST_WAIT_NS};

pub(crate) static CHECK: Check = Check {
    name: "delayed-ack",
    asks: "Is the ACK as late as a delayed ACK can be?",
    passed: "the ACK is as late as a delayed one",
    failed: "the ACK is late for another reason than a delayed-ACK timer",
    effect: Effect::RulesOut(Lookalike::LateAck),
    origin: Origin::Rfc("1122, section 4.2.3.2"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let beyond_ns = evidence.beyond_ns(hold);
    let longest_ns = LONGEST_WAIT_NS;
    let bound_ns = if beyond_ns < longest_ns {
        LEAST_DELAY_NS
    } else {
        longest_ns
    };
    let delayed = (LEAST_DELAY_NS..longest_ns).contains(&beyond_ns);
    Answer::of(delayed, Saw::time(beyond_ns, bound_ns))
}
