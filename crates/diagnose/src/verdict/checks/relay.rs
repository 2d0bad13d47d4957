//! A relay in the capturing host, for example a VPN's, reads, sends and waits for itself. It stands for the far end alone:
//! what the capturing host's own kernel sends, no relay behind the far address can hold. Asked last, so that whoever is
//! spared for this alone is known.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::{Origin, SAME_HOST_NS};

pub(crate) static CHECK: Check = Check {
    name: "relay",
    asks: "Is it really the other end that answers?",
    passed: "nothing tells of a relay",
    failed: "a relay stands between: the ends' own segments were not seen",
    effect: Effect::RulesOut(Lookalike::Relay),
    origin: Origin::Measured("recordings with 17 relays (the book: evidence)"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    let own = evidence.is_private && hold.sender_distance_ns.is_some_and(|ns| ns <= SAME_HOST_NS);
    Answer::of(!evidence.relayed || own, Saw::Nothing)
}
