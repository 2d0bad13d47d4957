//! Two writes for a message take twice its packets. That is worth a remark; a flood takes more (asked in `findings/tinygram_flood.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "flood-factor",
    asks: "Does it take more than twice the packets?",
    passed: "it takes more than twice the packets",
    failed: "it takes twice the packets at most, which is worth a remark",
    effect: Effect::AtMostPossible,
    origin: Origin::Assumed("two writes for a message"),
};
