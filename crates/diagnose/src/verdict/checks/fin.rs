//! The end of a connection waits for nothing: data that a rule holds leaves with the FIN when its program closes. So a
//! segment with both left when the program closed, unless a window stopped it: that may be behind full segments.

use tinygram_stalls::Kind;
use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;

pub(crate) static CHECK: Check = Check {
    name: "fin",
    asks: "Does it leave without the FIN of its sender?",
    passed: "it has no FIN",
    failed: "a segment with a FIN leaves as soon as its program closes, whatever the policy",
    effect: Effect::AtMostPossible,
    origin: Origin::Kernel("Linux, tcp_send_fin: TCP_NAGLE_OFF; BSD's tcp_output"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let hold = question.hold;
    match question.kind {
        // What a window or a buffer stops, it stops with a FIN, too.
        _ if hold.trigger_len >= hold.mss => Answer::NotAsked,
        Some(
            Kind::SmallBuffer
            | Kind::ShortInitialSegment
            | Kind::SlowStartDelayedAck
            | Kind::IdleRestart,
        ) => Answer::NotAsked,
        _ => Answer::of(!hold.fin, Saw::Nothing),
    }
}
