//! A turn keeps a bounded number of holds (asked in `story.rs`). No message is held so often: a stream is.

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "many-holds",
    asks: "Are there no more holds in its turn than can be kept?",
    passed: "its turn has few holds",
    failed: "its turn has more holds than a message can have: the sender writes as it goes",
    effect: Effect::RulesOut(Lookalike::PeriodicSender),
    origin: Origin::Assumed(
        "a bound of memory; data that was ready needs one hold, with a last piece two (RFC 896)",
    ),
};
