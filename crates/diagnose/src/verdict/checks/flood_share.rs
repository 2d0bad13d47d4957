//! Most segments of a flood could have shared one with the short segment before (asked in `findings/tinygram_flood.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "flood-share",
    asks: "Could most segments have shared another?",
    passed: "most segments could have shared another",
    failed: "most segments could not have shared another",
    effect: Effect::NoFlood,
    origin: Origin::Assumed("a flood is most of what is sent"),
};
