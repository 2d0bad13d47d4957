//! A short first segment under a congestion window of one or two segments (Heidemann 1997, section
//! 3.2): the window counts it as a whole segment, so what follows waits for its ACK.

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::thresholds::SHORT_FIRST_WINDOW;

/// Returns whether a hold is of this kind. A server that writes its header and then reads a file sends the same
/// segments. Only a window that grows on from two segments, with more to send each time, shows that the window was
/// small.
pub(crate) fn is(hold: &Hold, half: &Half) -> bool {
    hold.release.is_some()
        && half.rounds.grew_from_one()
        && hold.held_len >= hold.mss
        && hold.fresh
        && !hold.trigger_len.is_multiple_of(hold.mss)
        && hold.flight < (SHORT_FIRST_WINDOW + 1) * hold.mss
        && hold.room >= hold.held_len
}
