//! Which kind a hold is; one file per kind, with its rule.

pub(crate) mod buffer_tearing;
pub(crate) mod cork_held;
pub(crate) mod nagle_round_trip;
pub(crate) mod odd_full_short_final;
pub(crate) mod short_initial_segment;
pub(crate) mod slow_start_delayed_ack;
pub(crate) mod small_buffer;
pub(crate) mod write_write_read;

use tinygram_stalls::Kind;

use crate::flow::half::Half;
use crate::flow::hold::Hold;

/// Returns the kind of a hold that a late ACK or a timer released; `None` if the window explains
/// it.
pub(crate) fn classify(hold: &Hold, half: &Half) -> Option<Kind> {
    type Rule = fn(&Hold, &Half) -> bool;
    let rules: [(Kind, Rule); 7] = [
        (Kind::CorkHeld, cork_held::is),
        (Kind::ShortInitialSegment, short_initial_segment::is),
        (Kind::SlowStartDelayedAck, slow_start_delayed_ack::is),
        (Kind::SmallBuffer, small_buffer::is),
        (Kind::OddFullShortFinal, odd_full_short_final::is),
        (Kind::BufferTearing, buffer_tearing::is),
        (Kind::WriteWriteRead, write_write_read::is),
    ];
    rules
        .into_iter()
        .find(|(_, is)| is(hold, half))
        .map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests;
