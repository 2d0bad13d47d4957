//! A short segment held for a round trip though nobody delayed an ACK: on a long path Nagle's
//! algorithm alone makes every message of two writes pay one round trip more.

use super::{Words, release_evidence};

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => super::pieces_habit(h),
        None => String::new(),
    },
    evidence: |f| {
        let Some(h) = f.hold() else { return Vec::new() };
        release_evidence(
            f,
            format!(
                "The {} sent {} bytes (frame {}), less than one segment of {}, and nothing after them.",
                f.sender, h.trigger_len, h.trigger.frame, h.mss
            ),
        )
    },
};
