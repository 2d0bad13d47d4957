//! A sender that goes on without an answer kept nobody waiting with what it had held before (asked in `story.rs`). One that
//! had held often in that turn is a stream (`stream`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "went-on",
    asks: "Did the peer answer before the sender went on?",
    passed: "the peer answered before the sender went on",
    failed: "the sender went on, and the peer had not answered",
    effect: Effect::RulesOut(Lookalike::NobodyWaited),
    origin: Origin::Assumed("who waits for a message answers it, or closes"),
};
