//! Which kind a hold is: each rule at its bounds.

use super::{classify, nagle_round_trip, small_buffer};
use crate::findings::tests::{hold, mark};
use crate::flow::half::Half;
use crate::flow::half::tests::{changed, opened_with};
use crate::flow::hold::Hold;
use tinygram_stalls::Kind;

const MSS: u32 = 1000;
const MS: i64 = 1_000_000;

fn kind(hold: &Hold) -> Option<Kind> {
    classify(hold, &opened_with([4, 8, 16, 0]))
}

/// Of a sender whose window opened from one segment.
fn kind_from_one(hold: &Hold) -> Option<Kind> {
    classify(hold, &opened_with([1, 2, 2, 0]))
}

#[test]
fn a_short_one_behind_a_short_one_is_write_write_read() {
    assert_eq!(kind(&hold()), Some(Kind::WriteWriteRead));
    let held_len = MSS - 1;
    assert_eq!(
        kind(&Hold { held_len, ..hold() }),
        Some(Kind::WriteWriteRead)
    );
    let release = None;
    assert_eq!(kind(&Hold { release, ..hold() }), Some(Kind::CorkHeld));
}

#[test]
fn a_short_one_behind_full_ones_is_odd_full_short_final() {
    let behind = |trigger_len, flight| {
        kind(&Hold {
            trigger_len,
            flight,
            ..hold()
        })
    };
    let odd = Some(Kind::OddFullShortFinal);
    assert_eq!((behind(1000, 1000), behind(3000, 3000)), (odd, odd));
    assert_eq!(behind(999, 999), Some(Kind::WriteWriteRead));
    assert_eq!(behind(1001, 1001), Some(Kind::WriteWriteRead));
}

/// A multiple of 512 bytes, more than a segment, that ends in a short one.
#[test]
fn a_torn_message_is_as_long_as_a_buffer() {
    let torn = |flight, held_len| {
        kind(&Hold {
            trigger_len: flight % MSS,
            flight,
            held_len,
            ..hold()
        })
    };
    assert_eq!(torn(4096, 4), Some(Kind::BufferTearing));
    assert_eq!(torn(1024, 999), Some(Kind::BufferTearing));
    assert_eq!(torn(4095, 4), Some(Kind::WriteWriteRead));
    assert_eq!(torn(512, 4), Some(Kind::WriteWriteRead));
    // A full one that waited behind more than any small buffer.
    assert_eq!(torn(66_048, 1000), None);
    let exactly_a_segment = Hold {
        mss: 1024,
        trigger_len: 500,
        flight: 1024,
        ..hold()
    };
    assert_eq!(kind(&exactly_a_segment), Some(Kind::WriteWriteRead));
}

/// A full segment that waited: the buffer of the sender or that of the receiver was full.
#[test]
fn a_full_segment_waits_for_a_buffer() {
    let full = |flight, room| Hold {
        trigger_len: 500,
        held_len: MSS,
        fresh: false,
        flight,
        room,
        ..hold()
    };
    let small = Some(Kind::SmallBuffer);
    assert_eq!(kind(&full(65_536, 60_000)), small);
    assert_eq!(kind(&full(65_537, 60_000)), None);
    // The receiver's: no room, and less than two segments in all.
    assert_eq!(
        (kind(&full(1000, 999)), kind(&full(1000, 1000))),
        (small, small)
    );
    assert!(small_buffer::is_receivers(&full(1000, 999)));
    assert!(!small_buffer::is_receivers(&full(1000, 1000)));
    assert!(!small_buffer::is_receivers(&full(1001, 999)));
    assert_eq!(kind(&full(1001, 999)), None);
}

/// What fills a buffer up and leaves less than a segment behind it.
#[test]
fn a_buffer_of_2048_to_65536_bytes_leaves_a_short_one() {
    let leaves = |flight, held_len| {
        small_buffer::leaves_a_short_one(&Hold {
            flight,
            held_len,
            ..hold()
        })
    };
    assert!(leaves(2048, 999) && leaves(1460, 588) && leaves(65_536, 1));
    assert!(
        !leaves(1459, 588) && !leaves(1024, 512) && !leaves(65_537, 511) && !leaves(4096, 1000)
    );
    let corked = Hold {
        release: None,
        flight: 5000,
        ..hold()
    };
    assert!(!small_buffer::leaves_a_short_one(&corked));
}

/// Heidemann's short first segment, and slow start's odd ones: full segments wait in a window that opens
/// from one.
#[test]
fn a_window_of_one_segment_delays_what_follows() {
    let first = |trigger_len, flight| Hold {
        trigger_len,
        flight,
        held_len: MSS,
        ..hold()
    };
    let short = Some(Kind::ShortInitialSegment);
    let full = Some(Kind::SlowStartDelayedAck);
    assert_eq!(kind_from_one(&first(400, 400)), short);
    assert_eq!(kind_from_one(&first(999, 2999)), short);
    assert_eq!(kind_from_one(&first(1000, 1000)), full);
    assert_eq!(kind_from_one(&first(1000, 3999)), full);
    let buffer = Some(Kind::SmallBuffer);
    assert_eq!(kind_from_one(&first(999, 3000)), buffer);
    assert_eq!(kind_from_one(&first(1000, 4000)), buffer);
    // Of a window that began larger, later in the connection, or without room at the receiver: neither.
    assert_eq!(kind(&first(400, 400)), None);
    assert_eq!(kind(&first(999, 999)), None);
    assert_eq!(kind(&first(999, 1000)), buffer);
    assert_eq!(kind(&first(1000, 1000)), buffer);
    for (trigger_len, otherwise) in [(400, None), (1000, buffer)] {
        let later = Hold {
            fresh: false,
            ..first(trigger_len, trigger_len)
        };
        assert_eq!(kind_from_one(&later), otherwise);
        let no_room = Hold {
            room: 999,
            flight: 5000,
            ..first(trigger_len, trigger_len)
        };
        assert_eq!(kind_from_one(&no_room), None);
        let just_room = Hold {
            room: 1000,
            ..first(trigger_len, trigger_len)
        };
        assert_ne!(kind_from_one(&just_room), buffer);
    }
    // What is short is held by a policy.
    let held_len = 999;
    let short = Hold {
        held_len,
        ..first(400, 400)
    };
    assert_eq!(kind_from_one(&short), Some(Kind::WriteWriteRead));
    let odd = Hold {
        held_len,
        ..first(1000, 1000)
    };
    assert_eq!(kind_from_one(&odd), Some(Kind::OddFullShortFinal));
}

/// Nagle's round trip: only where neither window can be what held the segment.
#[test]
fn a_round_trip_is_nagles_where_no_window_was_in_the_way() {
    let measured = |opening| {
        changed(opened_with(opening), |half| {
            half.path.handshake_ns = 50_000_000;
        })
    };
    let is = |hold: &Hold, half: &Half| nagle_round_trip::is(hold, half, Some(100 * MS));
    let half = measured([4, 8, 0, 0]);
    assert!(is(&hold(), &half));
    assert!(!nagle_round_trip::is(&hold(), &half, None));
    assert!(!is(&hold(), &opened_with([4, 8, 0, 0])));
    let full = Hold {
        held_len: MSS,
        ..hold()
    };
    assert!(!is(&full, &half));
    let room = |room| Hold { room, ..hold() };
    assert!(is(&room(200), &half) && !is(&room(199), &half));
    let waited = |ns| Hold {
        held: mark(3, ns),
        ..hold()
    };
    assert!(is(&waited(25 * MS), &half) && !is(&waited(25 * MS - 1), &half));
    // Less than any window in flight; less than two segments, unless the window opened from one.
    let behind = |flight| Hold {
        flight,
        trigger_len: MSS,
        ..hold()
    };
    let from_one = measured([1, 2, 2, 0]);
    assert!(is(&behind(1999), &half) && !is(&behind(2000), &half));
    assert!(is(&behind(999), &from_one) && !is(&behind(1000), &from_one));
    // A flight that ended in a short segment was all that had been written.
    let ended_short = |trigger_len| Hold {
        trigger_len,
        ..behind(5000)
    };
    assert!(is(&ended_short(MSS - 1), &half) && !is(&ended_short(MSS), &half));
    assert!(!is(&ended_short(MSS - 1), &from_one));
    // This sender had as much in flight before, and in an opening flight where this was one.
    let peaks = |peak_flight, peak_opening| {
        changed(measured([4, 8, 0, 0]), |half| {
            half.peak_flight = peak_flight;
            half.peak_opening = peak_opening;
        })
    };
    let later = Hold {
        fresh: false,
        ..behind(5000)
    };
    assert!(is(&later, &peaks(5200, 0)) && !is(&later, &peaks(5199, 5199)));
    assert!(is(&behind(5000), &peaks(0, 5200)) && !is(&behind(5000), &peaks(5200, 5199)));
    let again = Hold {
        repeated: true,
        ..behind(5000)
    };
    assert!(is(&again, &half));
    // It let an earlier ACK of the flight go by.
    let apart = |in_parts_ns| Hold {
        in_parts_ns,
        ..behind(5000)
    };
    assert!(is(&apart(200_000), &half) && !is(&apart(199_999), &half));
}
