//! Urgent data is sent at once, whatever the policy, and so is what follows it until it is acknowledged.

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;

pub(crate) static CHECK: Check = Check {
    name: "urgent",
    asks: "Is it ordinary data, behind ordinary data?",
    passed: "it is ordinary data",
    failed: "urgent data leaves at once, and so does what follows it until it is acknowledged",
    effect: Effect::AtMostPossible,
    origin: Origin::Kernel("Linux, tcp_nagle_test and tcp_urg_mode; BSD's tcp_output"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    Answer::of(!question.hold.urgent, Saw::Nothing)
}
