//! A slow host takes longer each time to send what an ACK lets go. One connection may show that once only; the
//! connections of one program together show that its data follows the ACKs, whatever time these took (`pool.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "same-habit",
    asks: "Does the program leave as late behind ACKs that vary, on all its connections?",
    passed: "on all its connections the program leaves as late behind ACKs that vary",
    failed: "its other connections do not show that it follows the ACKs",
    effect: Effect::RulesOut(Lookalike::ThinkTime),
    origin: Origin::Fact("a clock of the program's own does not follow ACKs that vary"),
};
