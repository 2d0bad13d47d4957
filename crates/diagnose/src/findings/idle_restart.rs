//! Slow start again after an idle period (RFC 5681, section 4.1; Linux
//! `tcp_slow_start_after_idle`): the congestion window, which had grown, is cut to the initial
//! window, and a message that used to leave at once takes more round trips.

use super::finding::Finding;
use tinygram_stalls::ms;

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    let Some(h) = f.hold() else { return Vec::new() };
    let tells = if h.path_measured {
        ""
    } else {
        " as far as ACKs tell"
    };
    vec![
        format!(
            "After an idle period the {} sent {} segments (last: frame {}) and stopped with more to send.",
            f.sender,
            h.flight.div_ceil(h.mss),
            h.trigger.frame
        ),
        "Before the idle period it had sent at least twice as many at once.".to_owned(),
        format!(
            "It went on a round trip later{tells}, {} (frame {}).",
            ms(h.held.time_ns - h.trigger.time_ns),
            h.held.frame
        ),
    ]
}
