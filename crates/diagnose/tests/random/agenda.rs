//! What is to happen, in its order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tinygram_engine::Segment;

/// What is to happen. Of one time, what was entered first comes first.
#[derive(Default)]
pub(crate) struct Agenda {
    events: BinaryHeap<Reverse<Entry>>,
    order: u64,
}

impl Agenda {
    /// Enters what is to happen at a time.
    pub(crate) fn push(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse(Entry {
            at,
            order: self.order,
            event,
        }));
    }

    /// Returns the time of what comes next; the end of time if nothing does.
    pub(crate) fn next_at(&self) -> u64 {
        self.events.peek().map_or(u64::MAX, |entry| entry.0.at)
    }

    /// Takes what comes next.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.events.pop().map(|Reverse(entry)| entry.event)
    }
}

/// A segment on its way.
pub(crate) struct Packet {
    pub(crate) to: usize,
    pub(crate) segment: Segment,
    pub(crate) by_timer: bool,
    pub(crate) id: usize,
}

/// What happens at a time.
pub(crate) enum Event {
    Arrives(Packet),
    Runs(usize),
}

struct Entry {
    at: u64,
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
