//! Slow start again after an idle period stops a sender behind its first flight. A program that pauses there by itself
//! looks the same (asked in `conversation.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "cut-window",
    asks: "Can nothing but a cut window have stopped the sender?",
    passed: "nothing but a cut window can have stopped the sender",
    failed: "a program may pause behind its first flight, too",
    effect: Effect::AtMostLikely,
    origin: Origin::Rfc("5681, section 4.1"),
};
