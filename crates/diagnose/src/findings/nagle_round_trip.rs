//! A short segment held for a round trip although nobody delayed an ACK: on a long path Nagle's
//! algorithm alone costs every message of two writes one more round trip (RFC 896).

use super::said::{Words, pieces_evidence, pieces_habit};

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => pieces_habit(h),
        None => String::new(),
    },
    evidence: |f| {
        let mut said = pieces_evidence(f);
        said.push(format!(
            "The wait was one round trip of the path, and the {} answered after the held bytes.",
            f.sender.other()
        ));
        said
    },
};
