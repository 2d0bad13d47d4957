//! A short connection shows an event once, and one event captured far from its sender is not enough. But the same program
//! opens many such connections, so they are judged by what all of them show together
//! (asked in `pool.rs`; what passes is possible no more for having been seen once: `checked.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "corroborated",
    asks: "Do all connections of the same program together show it?",
    passed: "all connections of the program together show it",
    failed: "other connections of the program do not show it either",
    effect: Effect::AtMostPossible,
    origin: Origin::Assumed("occasions of one program count together"),
};
