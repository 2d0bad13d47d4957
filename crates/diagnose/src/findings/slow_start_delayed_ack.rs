//! Slow start with a window of one segment, or an odd number, and a receiver that waits for the
//! second (RFC 5681, section 4.2): the first flight costs a delayed ACK.

use super::{Words, release_evidence};
use crate::flow::half::Half;
use crate::hold::Hold;

pub(super) fn is(hold: &Hold, half: &Half) -> bool {
    let begins = hold.fresh
        && (half.grew_from_one() || began_with_one(hold, half))
        && hold.flight < 4 * hold.mss;
    hold.release.is_some()
        && (begins || begins_again(hold, half))
        && hold.held_len >= hold.mss
        && hold.trigger_len.is_multiple_of(hold.mss)
        && hold.room >= hold.held_len
}

/// After a retransmission timeout the window is one segment again (RFC 5681, section 3.1). One
/// segment was in flight, without PSH, so more data was ready, and more followed its ACK.
fn begins_again(hold: &Hold, half: &Half) -> bool {
    hold.flight == hold.mss && hold.more_ready && half.tally.retransmitted > 0
}

/// The first flight was one full segment, and full ones were ready behind it: no buffer is so
/// small, and no program writes exactly that much. A missing PSH shows this alone, wherever it was
/// captured.
fn began_with_one(hold: &Hold, half: &Half) -> bool {
    hold.flight == hold.mss && (half.begins_with_one() || hold.more_ready)
}

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => format!(
            "starts with {} full segment(s), which the other side acknowledges late",
            h.flight.div_ceil(h.mss)
        ),
        None => String::new(),
    },
    evidence: |f| {
        let Some(h) = f.hold() else { return Vec::new() };
        release_evidence(
            f,
            format!(
                "The {} sent {} full segment(s) (last: frame {}) and had no window for more.",
                f.sender,
                h.flight.div_ceil(h.mss),
                h.trigger.frame
            ),
        )
    },
};
