//! Slow start again after an idle period (RFC 5681, section 4.1; Linux
//! `tcp_slow_start_after_idle`): the congestion window, which had grown, is cut to the initial
//! window, and a message that used to leave at once takes more round trips.

use tinygram_stalls::thresholds::{A_ROUND_TRIP_IN, INITIAL_SEGMENTS, NOTICED_RESTART_NS};
use tinygram_wire::decode::Gist;

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use crate::flow::mark::Mark;

/// Returns the pause that ends the first flight after an idle period, if the congestion window
/// caused it.
pub(crate) fn pause(
    half: &Half,
    segment: &Gist,
    mark: Mark,
    mss: u32,
    rtt_ns: i64,
) -> Option<Hold> {
    let wait_ns = mark.time_ns - half.sent.time_ns;
    let flight = match half.idle() {
        true => half.released_flight,
        false => half.flight,
    };
    let full = segment.payload >= mss && half.last_len >= mss && half.last_len.is_multiple_of(mss);
    // The window was cut to an initial one, and had been twice that.
    let cut = flight.is_multiple_of(mss)
        && INITIAL_SEGMENTS.contains(&(flight / mss))
        && half.peak_flight >= 2 * flight;
    let off_ns = rtt_ns / A_ROUND_TRIP_IN;
    let a_round_trip =
        rtt_ns >= NOTICED_RESTART_NS && (rtt_ns - off_ns..rtt_ns + off_ns).contains(&wait_ns);
    let upon_ack = mark.time_ns - half.release.mark.time_ns < off_ns;
    let room = half.release.room >= segment.payload;
    (full && cut && a_round_trip && upon_ack && room && !half.turns.peer_spoke && !half.disturbed)
        .then(|| Hold {
            trigger: half.sent,
            release: Some(half.release.mark),
            held: mark,
            trigger_len: half.last_len,
            held_len: segment.payload,
            flight,
            ack_wait_ns: half.release.wait_ns,
            reaction_ns: mark.time_ns - half.release.mark.time_ns,
            pushed: half.pushed,
            more_ready: !half.pushed,
            mss,
            room: half.release.room,
            prompt: true,
            fresh: true,
            trigger_head: half.head,
            ..Hold::default()
        })
}
