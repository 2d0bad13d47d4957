//! A short first segment under a congestion window of one or two segments (Heidemann 1997, section
//! 3.2): the window counts it as a whole segment, so what follows waits for its ACK.

use super::finding::Finding;
use super::said::release_evidence;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    release_evidence(
        f,
        format!(
            "The {} began with {} bytes (frame {}); full segments were ready, \
                 but its congestion window allowed no more.",
            f.sender, h.trigger_len, h.trigger.frame
        ),
    )
}
