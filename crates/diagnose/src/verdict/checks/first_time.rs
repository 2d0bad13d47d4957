//! What is sent again was lost, or its ACK was (asked in `conversation.rs`; `story.rs` counts the time).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "first-time",
    asks: "Is it sent for the first time?",
    passed: "it is sent for the first time",
    failed: "it was sent before, and is sent again",
    effect: Effect::RulesOut(Lookalike::Loss),
    origin: Origin::Rfc("9293, section 3.8.1"),
};
