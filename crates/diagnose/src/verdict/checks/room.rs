//! Of one direction, and of one program, a bounded number of suspects is kept until more is seen (asked in `story.rs` and
//! `pool.rs`). Nothing is said of those beyond.

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "room",
    asks: "Is there room to keep it until more is seen?",
    passed: "there was room to keep it until more is seen",
    failed: "its sender has more suspects than are kept, and no one of them shows enough alone",
    effect: Effect::Unsaid,
    origin: Origin::Assumed("a bound of memory"),
};
