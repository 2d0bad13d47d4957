//! A send or receive buffer too small for the MSS (Moldeklev and Gunningberg; Mogul 1993): the
//! sender has filled it and waits for an ACK, while the receiver has less than two segments to
//! acknowledge or has freed too little of its buffer to announce it. Only the delayed-ACK timer
//! ends the deadlock.

use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::buffer;
use tinygram_stalls::thresholds::{LARGEST_SMALL_BUFFER, LEAST_BUFFER};

/// The window of the sender alone does not tell a buffer from congestion: only flights of the
/// same size, again and again, do, and the story waits for those. No send buffer is smaller than a segment:
/// behind less it is a congestion window that waits.
pub(crate) fn is(hold: &Hold, _: &Half) -> bool {
    hold.release.is_some()
        && hold.held_len >= hold.mss
        && hold.flight <= LARGEST_SMALL_BUFFER
        && (is_receivers(hold) || (hold.room >= hold.held_len && hold.flight >= hold.mss))
}

/// A send buffer that, full, leaves less than a segment behind what is in flight: Nagle's algorithm
/// holds that until the ACK, though nothing more fits in ("Deadlock situations in TCP over ATM",
/// section 3.1.2). Like any short segment but for its size, time after time; or for this, that no more than one
/// write is ever in flight, though the next is ready each time.
pub(crate) fn leaves_a_short_one(hold: &Hold) -> bool {
    hold.release.is_some()
        && hold.held_len < hold.mss
        && hold.flight <= LARGEST_SMALL_BUFFER
        && (is_of_a_buffer(hold) || fills_with_one_write(hold))
}

/// Nagle's algorithm would have gathered the next writes; a full buffer takes one at a time.
pub(crate) fn fills_with_one_write(hold: &Hold) -> bool {
    hold.chained && hold.held_len <= hold.flight
}

/// What is in flight, alone or with what waits behind it, is as much as a buffer holds: no program's messages
/// come to such a number time after time by accident.
fn is_of_a_buffer(hold: &Hold) -> bool {
    let with_held = hold.flight.saturating_add(hold.held_len);
    let units = |all: &u32| *all >= LEAST_BUFFER && buffer::is_a_size(*all);
    [hold.flight, with_held].iter().any(units)
}

/// The receiver's window was full: it is the receive buffer that is small.
pub(crate) fn is_receivers(hold: &Hold) -> bool {
    hold.room < hold.held_len && hold.room.saturating_add(hold.flight) < 2 * hold.mss
}
