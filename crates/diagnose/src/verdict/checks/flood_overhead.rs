//! A flood carries more headers than payload (Davids 2000; asked in `findings/tinygram_flood.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "flood-overhead",
    asks: "Do the headers outweigh the payload?",
    passed: "the headers outweigh the payload",
    failed: "the payload outweighs the headers",
    effect: Effect::NoFlood,
    origin: Origin::Paper("Davids 2000"),
};
