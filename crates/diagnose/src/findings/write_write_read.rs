//! Two writes, then a read: the second write is held until the first is acknowledged, and the peer,
//! which has half a message and nothing to answer, delays that ACK (RFC 896 meets RFC 813).

use super::Words;
use crate::flow::half::Half;
use crate::hold::Hold;

pub(super) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_some() && hold.held_len < hold.mss
}

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => super::pieces_habit(h),
        None => String::new(),
    },
    evidence: super::pieces_evidence,
};
