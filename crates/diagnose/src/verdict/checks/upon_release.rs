//! Queues and the sender's link account for the time by which it left later than its ACK puts it. A kernel lets a
//! held segment go at once, or nearly always; a program that takes a little longer than the ACK does is late each time. Other
//! connections of its program may show why (`pool.rs` asks, `checked.rs` forgives).

use crate::flow::hold::Hold;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::{Evidence, Question, is_ready};
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;
use tinygram_stalls::thresholds::{BLUR_MARGIN, BUSY_HOST_NS, BY_ACCIDENT, UPON_ACK_NS};

pub(crate) static CHECK: Check = Check {
    name: "upon-release",
    asks: "Did it leave as soon as its ACK let it go?",
    passed: "it left as soon as its ACK let it go",
    failed: "it left later than its ACK, the path and the link account for",
    effect: Effect::RulesOut(Lookalike::ThinkTime),
    origin: Origin::Fitted("random captures, and captures judged by hand"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if is_ready(hold) {
        return Answer::NotAsked;
    }
    let saw = Saw::time(evidence.late_ns(hold), within_ns(evidence, hold));
    Answer::of(is(evidence, hold), saw)
}

/// Returns whether it left upon its release.
pub(crate) fn is(evidence: &Evidence<'_>, hold: &Hold) -> bool {
    let within_ns = within_ns(evidence, hold);
    let (late_ns, late) = (evidence.late_ns(hold), evidence.half.odds_of(false));
    is_ready(hold)
        || late_ns <= within_ns
        || (!hold.prompt
            && (late.mostly_within(within_ns) || (late_ns <= BUSY_HOST_NS && late.follows_acks())))
}

/// Returns whether it left no later than a slow host lets go.
pub(crate) fn may_be_a_slow_host(evidence: &Evidence<'_>, hold: &Hold) -> bool {
    !hold.prompt && evidence.late_ns(hold) <= BUSY_HOST_NS
}

fn within_ns(evidence: &Evidence<'_>, hold: &Hold) -> i64 {
    let seldom_ns = hold.ack_wait_ns / BY_ACCIDENT;
    UPON_ACK_NS
        .max(BLUR_MARGIN * evidence.blur_ns)
        .max(seldom_ns)
}
