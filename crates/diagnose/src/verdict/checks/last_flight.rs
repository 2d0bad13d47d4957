//! A sender whose last flight had small data behind unacknowledged small data holds none (`flow/hold.rs` measures it;
//! asked in `conversation.rs`).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};
use crate::verdict::lookalikes::Lookalike;

pub(crate) static CHECK: Check = Check {
    name: "last-flight",
    asks: "Did its last flight leave as a sender that holds lets it?",
    passed: "its last flight had no small data behind unacknowledged small data",
    failed: "its sender had just sent small data while small data was unacknowledged",
    effect: Effect::RulesOut(Lookalike::NotHolding),
    origin: Origin::Rfc("896; Minshall's rule is no less strict here"),
};
