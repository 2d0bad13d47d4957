//! A short segment held for a round trip though nobody delayed an ACK: on a long path Nagle's
//! algorithm alone makes every message of two writes pay one round trip more (RFC 896).

use super::{Words, release_evidence};
use crate::flow::half::Half;
use crate::hold::Hold;

/// Only where the reader answered after the held segment, and where neither window can be what held
/// it: less than a segment was in flight.
pub(crate) fn is(hold: &Hold, half: &Half, answered_ns: Option<i64>) -> bool {
    hold.held_len < hold.mss
        && hold.flight < hold.mss
        && hold.room >= hold.held_len
        && answered_ns.is_some()
        && half.handshake_ns != u32::MAX
        && hold.ack_wait_ns >= LEAST_NS
}

/// Less is nothing that anybody notices.
const LEAST_NS: i64 = 25_000_000;

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => super::pieces_habit(h),
        None => String::new(),
    },
    evidence: |f| {
        let Some(h) = f.hold() else { return Vec::new() };
        let mut said = release_evidence(
            f,
            format!(
                "The {} sent {} bytes (frame {}), less than one segment of {}, and nothing after them.",
                f.sender, h.trigger_len, h.trigger.frame, h.mss
            ),
        );
        said.push(format!(
            "Nobody delayed the ACK: the path is that long. The {} answered after the held bytes.",
            f.sender.other()
        ));
        said
    },
};
