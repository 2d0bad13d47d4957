//! A short segment held for a round trip although nobody delayed an ACK: on a long path Nagle's
//! algorithm alone costs every message of two writes one more round trip (RFC 896).

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::thresholds::{ACKS_TOGETHER_NS, FEW_ACKS, NOTICED_WAIT_NS};

/// Returns true only if the reader answered after the held segment, and neither the receive window
/// nor the congestion window can have held it.
pub(crate) fn is(hold: &Hold, half: &Half, answered_ns: Option<i64>) -> bool {
    hold.held_len < hold.mss
        && window_had_room(hold, half)
        && hold.room >= hold.held_len
        && answered_ns.is_some()
        && (half.path.handshake_ns != u32::MAX || half.tally.acks > FEW_ACKS)
        && hold.held.time_ns - hold.trigger.time_ns >= NOTICED_WAIT_NS
}

/// Returns whether the congestion window had room for the segment. It did if less than a window's
/// minimum was in flight, or if the flight ended in a short segment: the program had written no
/// more, and the window would have ended there only by accident. Otherwise the sender must have had
/// more in flight before, or have waited behind as much before (a window that is used up grows), or
/// have let an earlier ACK of the flight pass.
///
/// Far from the sender the ACKs pass before they arrive, and a flight looks smaller than it is. Behind what may be a whole
/// initial window only an earlier ACK tells there: it and the last must be further apart than the segment is from where
/// the last one puts it.
fn window_had_room(hold: &Hold, half: &Half) -> bool {
    let in_parts_ns = i64::from(hold.in_parts_ns);
    if hold.fills_initial_window && hold.is_far() {
        return in_parts_ns >= ACKS_TOGETHER_NS.max(hold.off_ns);
    }
    let before = match hold.fresh {
        true => half.peak_opening,
        false => half.peak_flight,
    };
    hold.flight < hold.mss
        || (hold.flight < 2 * hold.mss && !half.rounds.grew_from_one())
        || (!hold.trigger_len.is_multiple_of(hold.mss) && !half.rounds.grew_from_one())
        || before >= hold.flight + hold.held_len
        || hold.repeated
        || in_parts_ns >= ACKS_TOGETHER_NS
}
