//! An odd number of full segments and a short final one (OF+SFS; Mogul and Minshall, section 2):
//! the receiver acknowledges every second segment at once, the odd one late, and Nagle's original
//! rule holds the short one until then. Minshall's form (Linux) does not.

use super::{Words, release_evidence};
use crate::hold::Hold;

pub(super) fn is(hold: &Hold) -> bool {
    hold.release.is_some()
        && hold.held_len < hold.mss
        && hold.trigger_len >= hold.mss
        && hold.trigger_len.is_multiple_of(hold.mss)
}

pub(super) static WORDS: Words = Words {
    name: "odd-full-short-final",
    title: "odd full segments, short final one",
    habit: |f| match f.hold() {
        Some(h) => format!(
            "sends full segments, an odd one last, and holds the final {} bytes",
            h.held_len
        ),
        None => String::new(),
    },
    cure: |f| {
        format!(
            "TCP_NODELAY on the {}, or a stack with Minshall's rule",
            f.sender
        )
    },
    evidence: |f| {
        let Some(h) = f.hold() else { return Vec::new() };
        release_evidence(
            f,
            format!(
                "The {} sent full segments of {} bytes up to frame {}, the odd one; the final {} \
                 bytes stayed behind.",
                f.sender, h.mss, h.trigger.frame, h.held_len
            ),
        )
    },
    advice: |f| {
        format!(
            "{}: TCP_NODELAY, for the message is written whole and Nagle's original rule still \
             holds its tail; a stack with Minshall's form (Linux) needs nothing",
            f.sender
        )
    },
};
