//! The trigger was sent again, and nothing tells that its receiver had it before; or it was sent again after twice
//! the time by which this receiver delays its ACKs, so that the ACK of the first was lost. Asked in `story.rs`, too, of a sender that went on.

use crate::flow::hold::Hold;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Evidence;
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::OWN_TIMER_ACKS;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "loss",
    asks: "Was nothing lost?",
    passed: "nothing was lost",
    failed: "data was lost or reordered and sent again",
    effect: Effect::RulesOut(Lookalike::Loss),
    origin: Origin::Rfc("2883: duplicates are reported"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let evidence = question.evidence;
    let lost = is(evidence, question.hold) && !evidence.delays_for_longer;
    Answer::of(!lost, Saw::Nothing)
}

/// Returns whether the trigger may have been lost.
pub(crate) fn is(evidence: &Evidence<'_>, hold: &Hold) -> bool {
    hold.resent.is_some_and(|resent| {
        let delayed_ns = i64::from(evidence.half.path.delayed_ns);
        let too_late =
            evidence.half.tally.delayed_acks >= OWN_TIMER_ACKS && resent.after_ns > 2 * delayed_ns;
        !resent.needlessly || too_late
    })
}
