//! A message torn by a buffer whose size is no multiple of the MSS (Mogul and Minshall, section
//! 3.1): 4100 bytes through a buffer of 4096 leave as 1460, 1460, 1176, and 4 that are held.

use super::finding::Finding;
use super::said::release_evidence;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    release_evidence(
        f,
        format!(
            "The {} sent {} bytes, a buffer's size, ending in a short segment (frame {}); \
                 the other {} stayed behind.",
            f.sender, h.flight, h.trigger.frame, h.held_len
        ),
    )
}
