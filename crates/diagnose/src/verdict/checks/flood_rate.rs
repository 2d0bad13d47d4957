//! A flood has a rate: many segments that could have shared one come each second, or in each run (asked in `findings/tinygram_flood.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "flood-rate",
    asks: "Do they come fast, or many in a run?",
    passed: "they come fast, or many in a run",
    failed: "they come seldom",
    effect: Effect::NoFlood,
    origin: Origin::Assumed("less is no load"),
};
