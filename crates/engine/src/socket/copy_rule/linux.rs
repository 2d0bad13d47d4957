//! Linux: the whole write, and few wake-ups of sleeping writers.

use super::{CopyView, Rule, Step};

/// Copies as much of the write as there is space for, in one piece. A sleeping writer is not woken
/// until a third of the buffer is free (`sk_stream_is_writeable`: free space of at least half of
/// what is queued). Woken for every acknowledgment, it would copy in small pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linux;

impl Rule for Linux {
    fn step(&self, view: &CopyView) -> Step {
        match view.space() {
            0 => Step::Sleep,
            space => Step::Copy(view.remaining.min(space)),
        }
    }

    fn wakes(&self, space: u64, capacity: u64) -> bool {
        3 * space >= capacity
    }
}
