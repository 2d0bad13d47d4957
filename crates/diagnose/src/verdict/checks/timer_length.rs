//! A handshake may take a shorter way than the data: a proxy answers it nearby. Then every ACK takes a plain round trip
//! longer than the handshake did. That the receiver delayed an ACK is known if another ACK came sooner, if the ACK is as
//! late as a timer in use, or if the receiver itself answered the handshake: its SYN and its ACKs crossed as many routers.

use tinygram_stalls::thresholds::{LEAST_DELAY_NS, Origin, shortest_timer_ns};

use crate::flow::half::path::AnsweredBy;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;

pub(crate) static CHECK: Check = Check {
    name: "timer-length",
    asks: "Is the ACK later than the path to the receiver itself?",
    passed: "another ACK came sooner, or the receiver itself answered the handshake, or a timer in use is as long",
    failed: "no ACK came sooner, no timer in use is so short, and another host may have answered the handshake: it may be a plain round trip",
    effect: Effect::AtMostPossible,
    origin: Origin::Fact(
        "each router lowers the time to live (RFC 791, section 3.2); no delayed-ACK timer in common use is shorter than Linux's",
    ),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let path = &evidence.half.path;
    let later = hold.ack_wait_ns - i64::from(path.ack_min_ns) >= LEAST_DELAY_NS;
    let answered_itself = path.answered_by == AnsweredBy::Receiver;
    let bound_ns = shortest_timer_ns();
    let beyond_ns = evidence.beyond_ns(hold);
    Answer::of(
        later || answered_itself || beyond_ns >= bound_ns,
        Saw::time(beyond_ns, bound_ns),
    )
}
