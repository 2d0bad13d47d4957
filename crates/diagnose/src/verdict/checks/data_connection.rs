//! An FTP server says "226" when its data connection is done. That the client acknowledged "150" a moment before, late
//! as ACKs are, is an accident (`elsewhere.rs` knows; asked in `gathered.rs`, at the end
//! and whenever findings are taken out).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "data-connection",
    asks: "Was no data connection of the two hosts busy in between?",
    passed: "no data connection was busy in between",
    failed: "the server answers when its data connection is done",
    effect: Effect::RulesOut(Lookalike::ThinkTime),
    origin: Origin::Rfc("959, section 5.4"),
};
