//! A relay that passes on what came to it at the tick of the clock at which the ACK comes must first be woken. Near the
//! sender that shows; farther off the path blurs as much. Of four holds and more, three of four decide.

use crate::flow::hold::Hold;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::{Evidence, Question, is_ready};
use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::{BLUR_MARGIN, KERNEL_WAKES_NS, Origin};

pub(crate) static CHECK: Check = Check {
    name: "at-once",
    asks: "Did it leave as fast as a kernel lets go?",
    passed: "it left as fast as a kernel lets go",
    failed: "it left as slowly as a relay's process that must be woken",
    effect: Effect::AtMostPossible,
    origin: Origin::Fitted("recordings with 17 relays (the book: evidence)"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if question.kind == Some(Kind::SmallBuffer) || is_ready(hold) || hold.prompt {
        return Answer::NotAsked;
    }
    let bound_ns = KERNEL_WAKES_NS.max(BLUR_MARGIN * evidence.blur_ns);
    let distance_ns = hold.sender_distance_ns.unwrap_or(0);
    let saw = Saw::time(
        (hold.reaction_ns - 2 * distance_ns).min(hold.off_ns),
        bound_ns,
    );
    Answer::of(is(evidence, hold), saw)
}

/// Returns whether it left as fast as a kernel lets go, and so did three of four of this sender's.
pub(crate) fn is(evidence: &Evidence<'_>, hold: &Hold) -> bool {
    let habit = evidence.half.odds_of(false).mostly_at_once();
    is_ready(hold) || hold.prompt || habit.unwrap_or_else(|| hold.is_at_once(evidence.blur_ns))
}
