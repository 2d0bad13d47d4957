//! An odd number of full segments and a short final one (OF+SFS; Mogul and Minshall, section 2):
//! the receiver acknowledges every second segment at once and the odd one late, and Nagle's
//! original rule holds the short one until that ACK. Minshall's rule (Linux) does not.

use super::said::{Words, release_evidence};

pub(super) static WORDS: Words = Words {
    habit: |f| match f.hold() {
        Some(h) => format!(
            "sends full segments, an odd one last, and holds the final {} bytes",
            h.held_len
        ),
        None => String::new(),
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
};
