//! A router that translates addresses passes a segment on under other ends. Recorded on both of its sides, one wait looks like
//! that of two connections, and counts once. Sequence numbers stay what they are, and the time to live does not
//! (`twice.rs` compares them; asked in `gathered.rs`, at the end and whenever findings are taken out).

use tinygram_stalls::thresholds::Origin;

use crate::verdict::check::{Check, Effect};

pub(crate) static CHECK: Check = Check {
    name: "recorded-twice",
    asks: "Was the segment recorded once only?",
    passed: "no other connection has the same segment",
    failed: "the same segment was recorded under other addresses, too, and counts once",
    effect: Effect::Unsaid,
    origin: Origin::Rfc("3022, section 4.1; 6528 (numbers begin at random); 1812, section 5.3.1"),
};
