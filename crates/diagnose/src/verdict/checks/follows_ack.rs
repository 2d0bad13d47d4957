//! What a late ACK lets go leaves when that ACK reaches its sender (`flow/hold.rs` measures it). What leaves at another time
//! is not seen as held at all (asked in `conversation.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "follows-ack",
    asks: "Did it leave when a late ACK reached its sender?",
    passed: "it left when a late ACK reached its sender",
    failed: "it left at another time than the late ACK puts it, and its program produced it later",
    effect: Effect::RulesOut(Lookalike::ThinkTime),
    origin: Origin::Rfc("896: the ACK lets it go"),
};
