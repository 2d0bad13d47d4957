//! Two writes, then a read: the second is held until the first is acknowledged, and the peer,
//! who has half a message and nothing to answer, delays that ACK (RFC 896 meets RFC 813).

use super::{Words, release_evidence};
use crate::hold::Hold;

pub(super) fn is(hold: &Hold) -> bool {
    hold.release.is_some() && hold.held_len < hold.mss
}

pub(super) static WORDS: Words = Words {
    name: "write-write-read",
    title: "write-write-read",
    habit: |f| match f.hold() {
        Some(h) => format!(
            "writes {} + {} bytes separately and waits",
            h.trigger_len, h.held_len
        ),
        None => String::new(),
    },
    cure: |f| format!("write once, or TCP_NODELAY on the {}", f.sender),
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
    advice: |f| {
        format!(
            "{0}: write the message once (one buffer, writev, or cork and uncork around it); if it \
             cannot be, TCP_NODELAY on the {0}, which sends each write as a packet of its own and \
             is the wrong cure where a message is many small writes",
            f.sender
        )
    },
};
