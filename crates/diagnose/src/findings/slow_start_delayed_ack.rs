//! Slow start with a window of one segment, or an odd number, and a receiver that waits for the
//! second (RFC 5681, section 4.2): the first flight costs a delayed ACK.

use super::finding::Finding;
use super::said::release_evidence;
use crate::flow::hold::Hold;
use tinygram_stalls::Timeout;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    let why = match h.timeout {
        Timeout::Yes => "stopped: its window was one segment again after a retransmission timeout",
        Timeout::No | Timeout::Perhaps => "had no window for more",
    };
    release_evidence(
        f,
        format!(
            "The {} sent {} (last: frame {}) and {why}.",
            f.sender,
            full_segments(h),
            h.trigger.frame
        ),
    )
}

fn full_segments(hold: &Hold) -> String {
    match hold.flight.div_ceil(hold.mss) {
        1 if hold.flight < hold.mss => "one segment".to_owned(),
        1 => "one full segment".to_owned(),
        more => format!("{more} full segments"),
    }
}
