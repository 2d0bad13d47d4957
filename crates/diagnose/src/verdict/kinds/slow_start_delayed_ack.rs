//! Slow start with a window of one segment, or an odd number, and a receiver that waits for the
//! second (RFC 5681, section 4.2): the first flight costs a delayed ACK.

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::Timeout;
use tinygram_stalls::thresholds::SMALL_FIRST_WINDOW;

pub(crate) fn is(hold: &Hold, half: &Half) -> bool {
    let stopped = begins(hold, half) || begins_again(hold, half);
    let full = hold.trigger_len.is_multiple_of(hold.mss) && hold.held_len >= hold.mss;
    hold.release.is_some()
        && ((stopped && full) || was_lost_before(hold))
        && hold.room >= hold.held_len
}

/// Returns whether a retransmission timeout had made the window small.
pub(crate) fn timeout(hold: &Hold, half: &Half) -> Timeout {
    match begins(hold, half) {
        _ if was_lost_before(hold) => Timeout::Yes,
        true if half.rounds.opened_again && hold.flight <= hold.mss => Timeout::Yes,
        true if hold.flight > hold.mss => Timeout::No,
        false if half.tally.retransmitted > 0 => Timeout::Yes,
        _ => hold.timeout,
    }
}

/// Returns whether the hold followed the first flight, under a small initial window.
fn begins(hold: &Hold, half: &Half) -> bool {
    hold.fresh
        && (half.rounds.grew_from_one() || began_with_one(hold, half))
        && hold.flight < (SMALL_FIRST_WINDOW + 1) * hold.mss
}

/// Returns whether a retransmission timeout had cut the congestion window to one segment (RFC 5681, section 3.1). One
/// segment was in flight, without PSH, so more data was ready, and more followed its ACK.
fn begins_again(hold: &Hold, half: &Half) -> bool {
    hold.flight == hold.mss && hold.more_ready && half.tally.retransmitted > 0
}

/// Returns whether the one segment in flight was sent a second time, after its first sending was lost on its way to the
/// capture point. Then the window was one segment, and whatever was ready waited, however short.
fn was_lost_before(hold: &Hold) -> bool {
    hold.sent_again && hold.flight == hold.trigger_len
}

/// Returns whether the first flight was one full segment with full ones ready behind it. No buffer is so small, and no
/// program writes exactly that much. A missing PSH shows this alone, wherever it was captured.
fn began_with_one(hold: &Hold, half: &Half) -> bool {
    hold.flight == hold.mss && (half.rounds.begin_with_one() || hold.more_ready)
}
