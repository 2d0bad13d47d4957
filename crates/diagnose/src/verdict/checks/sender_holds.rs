//! A sender that sends small segments while small ones are unacknowledged holds none.

use crate::flow::half::Half;
use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::{DEFIES_BEHIND, DEFIES_OFTEN, Origin};

pub(crate) static CHECK: Check = Check {
    name: "sender-holds",
    asks: "Does this sender hold at all?",
    passed: "the sender holds small segments",
    failed: "the sender sends small segments while small ones are unacknowledged, so it holds none",
    effect: Effect::RulesOut(Lookalike::NotHolding),
    origin: Origin::Rfc("896; Minshall's rule is no less strict here"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    let hits = evidence.hits();
    // Before the held segment, or right behind it.
    let since = evidence.half.tally.defied.saturating_sub(hold.defied);
    let defies = hold.defied > hits || (since > hits && since >= DEFIES_BEHIND);
    let holds = !defies || hold.held_len >= hold.mss;
    Answer::of(holds, Saw::Count(hold.defied.max(since), hits))
}

/// Returns whether the whole connection shows a sender that holds nothing: it sent small segments while small ones were
/// unacknowledged, several times, and no late ACK ever released a segment of it.
pub(crate) fn is_refuted(half: &Half) -> bool {
    half.tally.defied >= DEFIES_OFTEN && half.odds_of(false).hits() == 0
}
