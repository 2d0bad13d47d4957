//! TCP_CORK, MSG_MORE or autocorking that nobody ended: the tail of a message waits for the
//! kernel's own limit, one retransmission timeout (200 ms plus the round trip on Linux).

use super::finding::Finding;
use tinygram_stalls::ms;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    let mut said = vec![format!(
        "The {} sent full segments up to frame {}, and the last {} bytes {} later (frame {}): \
             the retransmission timeout that bounds TCP_CORK and MSG_MORE.",
        f.sender,
        h.trigger.frame,
        h.held_len,
        ms(h.held.time_ns - h.trigger.time_ns),
        h.held.frame
    )];
    if !h.pushed {
        said.push(format!(
            "Frame {} carries no PSH: its sender had said that more was to come.",
            h.trigger.frame
        ));
    }
    said.push("No ACK arrived at that moment, and the peer was silent.".to_owned());
    said
}
