//! ACKs of two full segments may not wait (RFC 1122). If they are as late, it is the path.

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::Question;
use crate::verdict::lookalikes::Lookalike;
use tinygram_stalls::thresholds::{Origin, UNDELAYED_IN};

pub(crate) static CHECK: Check = Check {
    name: "prompt-acks",
    asks: "Were ACKs as late that no receiver may delay?",
    passed: "what no receiver may delay came sooner",
    failed: "ACKs that no receiver delays were as late",
    effect: Effect::RulesOut(Lookalike::LateAck),
    origin: Origin::Rfc("1122, section 4.2.3.2: an ACK for at least every second segment"),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    if hold.release.is_none() || evidence.is_prompt(hold) {
        return Answer::NotAsked;
    }
    let prompt_ns = i64::from(evidence.half.path.prompt_ns) - evidence.path_ns();
    let beyond_ns = evidence.beyond_ns(hold);
    Answer::of(
        prompt_ns * UNDELAYED_IN <= beyond_ns,
        Saw::time(beyond_ns, (prompt_ns * UNDELAYED_IN).max(0)),
    )
}
