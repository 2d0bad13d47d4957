//! An odd number of full segments and a short final one (OF+SFS; Mogul and Minshall, section 2):
//! the receiver acknowledges every second segment at once and the odd one late, and Nagle's
//! original rule holds the short one until that ACK. Minshall's rule (Linux) does not.

use super::finding::Finding;
use super::said::release_evidence;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    release_evidence(
        f,
        format!(
            "The {} sent full segments of {} bytes up to frame {}, the odd one; the final {} \
                 bytes stayed behind.",
            f.sender, h.mss, h.trigger.frame, h.held_len
        ),
    )
}
