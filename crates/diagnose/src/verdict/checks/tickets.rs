//! A TLS 1.3 server sends session tickets behind the handshake. They are held like other data, and no client waits for
//! them, unless it goes on as soon as it has them.

use tinygram_stalls::thresholds::{ANSWER_AT_ONCE_NS, ANSWER_PATHS, Origin};

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "tickets",
    asks: "Does a client wait for these records?",
    passed: "the client went on as soon as it had them",
    failed: "they are TLS session tickets, for which no client waits",
    effect: Effect::RulesOut(Lookalike::NobodyWaited),
    origin: Origin::Rfc("8446, section 4.6.1"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if !hold.tickets {
        return Answer::NotAsked;
    }
    let bound_ns = ANSWER_AT_ONCE_NS.max(ANSWER_PATHS * evidence.path_ns());
    let after_ns = evidence
        .answered_ns
        .map_or(i64::MAX, |ns| ns - hold.held.time_ns);
    Answer::of(after_ns < bound_ns, Saw::time(after_ns, bound_ns))
}
