//! A sender whose own clock has nearly the period of its peer's delayed-ACK timer sends close behind the ACKs, too. But
//! what an ACK lets go varies with the ACK: from data to data at least as much as from ACK to data. A clock of the
//! sender's own varies less than the ACKs do.

use tinygram_stalls::thresholds::{FINEST_NS, OWN_CLOCK_IN, Origin};

use crate::verdict::check::{Answer, Check, Effect, Saw};
use crate::verdict::evidence::{Evidence, Question, is_ready};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "own-period",
    asks: "Does its data follow the ACKs, and not a clock of its own?",
    passed: "from ACK to data the times vary no more than from data to data",
    failed: "from data to data the times vary less than from ACK to data: a clock of its own",
    effect: Effect::RulesOut(Lookalike::PeriodicSender),
    origin: Origin::Fact(
        "the variance of a sum of independent times is no less than that of either",
    ),
};

pub(crate) fn ask(question: &Question<'_>) -> Answer {
    let (evidence, hold) = (question.evidence, question.hold);
    // What left as sharply upon its ACK as can be measured was let go by it, whatever the others did.
    let sharp = evidence.late_ns(hold) <= FINEST_NS + evidence.blur_ns;
    // The flights of a buffer begin at no write of the program's.
    let bulk = question.turn.bulk || hold.chained;
    if is_ready(hold) || hold.prompt || sharp || bulk {
        return Answer::NotAsked;
    }
    of_the_sender(evidence)
}

/// Answers for all that this sender sent behind late ACKs.
pub(crate) fn of_the_sender(evidence: &Evidence<'_>) -> Answer {
    match evidence.half.odds_of(false).spreads_ns() {
        None => Answer::NotAsked,
        Some((from_data_ns, from_ack_ns)) => {
            let own =
                i64::from(from_ack_ns) > OWN_CLOCK_IN * i64::from(from_data_ns) + evidence.blur_ns;
            let saw = Saw::time(from_ack_ns.into(), from_data_ns.into());
            Answer::of(!own, saw)
        }
    }
}
