//! A handshake may take a shorter way than the data: a proxy answers it nearby. Then every ACK takes a plain round trip
//! longer than the handshake did. Where no other ACK came sooner, only a delay as long as that of a timer in use tells a
//! delayed ACK.

use tinygram_stalls::thresholds::{LEAST_DELAY_NS, Origin, shortest_timer_ns};

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;

pub(crate) static CHECK: Check = Check {
    name: "timer-length",
    asks: "Is the ACK later than others, or as late as a timer in use?",
    passed: "the ACK is later than others, or as late as a timer in use",
    failed: "no ACK came sooner, and no timer in use is so short: it may be a plain round trip of a path that the handshake did not take",
    effect: Effect::AtMostPossible,
    origin: Origin::Fact("no delayed-ACK timer in common use is shorter than Linux's"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let soonest_ns = i64::from(evidence.half.path.ack_min_ns);
    let later = hold.ack_wait_ns - soonest_ns >= LEAST_DELAY_NS;
    let bound_ns = shortest_timer_ns();
    let beyond_ns = evidence.beyond_ns(hold);
    Answer::of(
        later || beyond_ns >= bound_ns,
        Saw::time(beyond_ns, bound_ns),
    )
}
