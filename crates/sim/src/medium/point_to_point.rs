//! Full duplex: each direction has its own wire and its own queue.

use tinygram_engine::{Duration, Instant};

use super::{Side, UnderWay, Wire};

/// Two wires with a rate, a delay and a bounded queue before each.
#[derive(Clone, Debug)]
pub struct PointToPoint {
    wire: Wire,
    /// Frames that would wait longer than this for the wire are dropped.
    longest_wait: Duration,
    free_at: [Instant; 2],
}

impl PointToPoint {
    /// Returns a line whose queues are unbounded.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self::with_queue(wire, u64::MAX)
    }

    /// Returns a line at whose wires at most `queue_octets` wait.
    #[must_use]
    pub fn with_queue(wire: Wire, queue_octets: u64) -> Self {
        let longest_wait = wire.takes(queue_octets);
        Self {
            wire,
            longest_wait,
            free_at: [Instant::ZERO; 2],
        }
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Sends the frames of this host. Nobody else uses its wire, so each frame's arrival is known
    /// at once.
    #[inline]
    pub(super) fn enqueue(&mut self, from: Side, under_way: &mut UnderWay) {
        let free_at = &mut self.free_at[from.index()];
        while let Some(frame) = under_way.waiting(from) {
            let start = frame.at.max(*free_at);
            if start.since(frame.at) > self.longest_wait {
                under_way.lost += 1;
                under_way.drop_waiting(from);
                continue;
            }
            *free_at = start + self.wire.occupies(frame.segment.len);
            under_way.deliver(from, *free_at + self.wire.propagation);
        }
    }
}
