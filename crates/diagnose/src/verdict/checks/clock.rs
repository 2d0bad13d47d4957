//! Times that no clock has told accuse nobody (asked in `gathered.rs`, when all has been read).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "clock",
    asks: "Were the frames stamped by a clock?",
    passed: "a clock stamped the frames",
    failed: "no clock stamped the frames: all times are equal, or each is the same step after the one before",
    effect: Effect::Unsaid,
    origin: Origin::Fact("each verdict is one about times"),
};
