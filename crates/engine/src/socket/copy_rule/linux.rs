//! Linux: the whole write, and few wake-ups for whom it has put to sleep.

use super::{CopyView, Rule, Step};

/// Copies as much of the write as there is space for, in one piece. A writer that sleeps is left
/// asleep until a third of the buffer is free (`sk_stream_is_writeable`: as much free as half of what
/// is queued): woken for every acknowledgment, it would copy in driblets.
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
