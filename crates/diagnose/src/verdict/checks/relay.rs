//! A relay in the capturing host, for example a VPN's, reads, sends and waits for itself.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::Origin;

pub(crate) static CHECK: Check = Check {
    name: "relay",
    asks: "Is it really the other end that answers?",
    passed: "nothing tells of a relay",
    failed: "a relay stands between: the ends' own segments were not seen",
    effect: Effect::RulesOut(Lookalike::Relay),
    origin: Origin::Measured("recordings with 17 relays (docs/diagnose.md)"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    Answer::of(!question.evidence.relayed, Saw::Nothing)
}
