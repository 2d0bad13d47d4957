//! A send or receive buffer too small for the MSS (Moldeklev and Gunningberg; Mogul 1993): the
//! sender has filled it and waits for an ACK, while the receiver has less than two segments to
//! acknowledge or has freed too little of its buffer to announce it. Only the delayed-ACK timer
//! ends the deadlock.

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::buffer;
use tinygram_stalls::thresholds::{LARGEST_SMALL_BUFFER, LEAST_BUFFER};

/// Returns whether a hold is of this kind. The bytes in flight do not tell a full buffer from a congestion window; only
/// flights of the same size, again and again, do, and the story waits for those. No send buffer is smaller than a
/// segment: behind less in flight it is a congestion window that waits.
pub(crate) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_some()
        && hold.held_len >= hold.mss
        && hold.flight <= LARGEST_SMALL_BUFFER
        && (is_receivers(hold) || (hold.room >= hold.held_len && hold.flight >= hold.mss))
}

/// Returns whether the send buffer, when full, leaves less than a segment behind what is in flight. Nagle's algorithm
/// holds that until the ACK, though nothing more fits in ("Deadlock situations in TCP over ATM", section 3.1.2). Such a
/// segment looks like any short one. What tells it is the size of the flight, which comes again and again, or that no
/// more than one write is ever in flight although the next is ready.
pub(crate) fn leaves_a_short_one(hold: &Hold) -> bool {
    hold.release.is_some()
        && hold.held_len < hold.mss
        && hold.flight <= LARGEST_SMALL_BUFFER
        && (is_of_a_buffer(hold) || fills_with_one_write(hold))
}

/// Returns whether the buffer takes one write at a time. Nagle's algorithm would have gathered the next writes.
pub(crate) fn fills_with_one_write(hold: &Hold) -> bool {
    hold.chained && hold.held_len <= hold.flight
}

/// Returns whether the bytes in flight, alone or with those that wait, are as much as a buffer holds. No program's
/// messages come to such a number several times by accident.
fn is_of_a_buffer(hold: &Hold) -> bool {
    let with_held = hold.flight.saturating_add(hold.held_len);
    let units = |all: &u32| *all >= LEAST_BUFFER && buffer::is_a_size(*all);
    [hold.flight, with_held].iter().any(units)
}

/// Returns whether the receiver's window was full, so that the receive buffer is the small one.
pub(crate) fn is_receivers(hold: &Hold) -> bool {
    hold.room < hold.held_len && hold.room.saturating_add(hold.flight) < 2 * hold.mss
}
