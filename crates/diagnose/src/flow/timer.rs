//! Tells whether a timer of the sender's let a segment go, and no acknowledgment.

use tinygram_stalls::Pieces;
use tinygram_stalls::thresholds::{
    ACK_BEFORE_IN, LATE_ROUND_TRIP_NS, RTO_MIN_NS, SAME_TAIL_NS, SHORTEST_TICK_NS, SMOOTHED_RTT_IN,
    STANDARD_RTO_NS, TICK_NS, TICKS_LATE,
};
use tinygram_wire::decode::Gist;

use super::half::Half;
use super::hold::{Hold, Pause};
use super::mark::Mark;

/// Returns a segment that nothing released but the sender's own clock, one retransmission timeout after
/// a full segment: TCP_CORK, MSG_MORE or autocorking held it (Linux: `icsk_rto`, 200 ms and the
/// smoothed round trip, in steps of the kernel's tick). Other systems' timers are told by this, that they
/// are as long time after time.
pub(crate) fn pause(
    sender: &mut Half,
    sender_distance_ns: Option<i64>,
    rtt_ns: i64,
    segment: &Gist,
    mark: Mark,
    mss: u32,
) -> Pause {
    let hold_ns = mark.time_ns - sender.sent.time_ns;
    let least_ns = RTO_MIN_NS + rtt_ns - TICK_NS;
    // The smoothed round trip has delayed ACKs in it, too; the kernel's timer is late by its tick.
    let most_ns = RTO_MIN_NS + smoothed_ns(rtt_ns).max(LATE_ROUND_TRIP_NS) + TICKS_LATE * TICK_NS;
    // What was lost on its way to the capture comes again after a retransmission timeout, too.
    let plain =
        !sender.turns.peer_between && !sender.disturbed && !sender.numbers.tell_of_missing();
    // A segment is as large as the MSS allows, or as the window does.
    let full = sender.last_len.is_multiple_of(mss) || sender.release.room == 0;
    let shape = segment.payload < mss && full;
    let released_earlier = mark.time_ns - sender.release.mark.time_ns > hold_ns / ACK_BEFORE_IN;
    let sent = sender.sent.frame > 0;
    if !(plain && shape && released_earlier && sent && sender.idle()) {
        return Pause::None;
    }
    let usual = (least_ns..=most_ns).contains(&hold_ns);
    // RFC 6298, section 2.4, rounds a retransmission timeout up to a second.
    let standard_ns =
        STANDARD_RTO_NS - TICK_NS..=STANDARD_RTO_NS + smoothed_ns(rtt_ns) + TICKS_LATE * TICK_NS;
    let standard = sender.has_more() && standard_ns.contains(&hold_ns);
    if !sender.tails.note(hold_ns) && !usual && !standard {
        return Pause::None;
    }
    Pause::Held(Hold {
        trigger: sender.sent,
        held: mark,
        trigger_len: sender.last_len,
        held_len: segment.payload,
        flight: sender.released_flight,
        sender_distance_ns,
        off_ns: SAME_TAIL_NS,
        pushed: sender.pushed,
        more_ready: !sender.pushed,
        mss,
        room: sender.release.room,
        pieces: Pieces::OneMessage,
        trigger_head: sender.head,
        ..Hold::default()
    })
}

/// Returns whether a message that waited so long from its beginning may have been corked as a whole. Linux releases it
/// after a retransmission timeout: 200 ms and the smoothed round trip, rounded up to a tick (`tcp_probe0_base`). A program
/// that thinks as long looks the same; one that sleeps for 200 ms sends a little sooner.
pub(super) fn is_its(waited_ns: i64, rtt_ns: i64) -> bool {
    let least_ns = RTO_MIN_NS + SHORTEST_TICK_NS;
    (least_ns..=RTO_MIN_NS + smoothed_ns(rtt_ns) + TICKS_LATE * TICK_NS).contains(&waited_ns)
}

/// Returns the longest smoothed round trip where the handshake took so long, in nanoseconds.
fn smoothed_ns(rtt_ns: i64) -> i64 {
    rtt_ns + rtt_ns / SMOOTHED_RTT_IN
}
