//! A short first segment under a congestion window of one or two segments (Heidemann 1997, section
//! 3.2): the window counts it as a whole segment, so what follows waits for its ACK.

use super::{Words, release_evidence};
use crate::flow::half::Half;
use crate::hold::Hold;

/// A server that writes its header and then reads a file sends the same segments. Only a window
/// that grows on from two segments, with more to send each time, shows that the window was small.
pub(super) fn is(hold: &Hold, half: &Half) -> bool {
    hold.release.is_some()
        && half.grew_from_one()
        && hold.held_len >= hold.mss
        && hold.fresh
        && !hold.trigger_len.is_multiple_of(hold.mss)
        && hold.flight < 3 * hold.mss
        && hold.room >= hold.held_len
}

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => format!(
            "opens with a short segment of {} bytes under a small congestion window",
            h.trigger_len
        ),
        None => String::new(),
    },
    evidence: |f| {
        let Some(h) = f.hold() else { return Vec::new() };
        release_evidence(
            f,
            format!(
                "The {} began with {} bytes (frame {}); full segments were ready, \
                 but its congestion window allowed no more.",
                f.sender, h.trigger_len, h.trigger.frame
            ),
        )
    },
};
