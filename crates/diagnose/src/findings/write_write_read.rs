//! Two writes, then a read: the second write is held until the first is acknowledged, and the peer,
//! which has half a message and nothing to answer, delays that ACK (RFC 896 meets RFC 813).

use super::said::{Words, pieces_evidence, pieces_habit};

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => pieces_habit(h),
        None => String::new(),
    },
    evidence: pieces_evidence,
};
