//! FDDI: a token ring, which two hosts use like a half-duplex line.
//!
//! Who has the token keeps it until its queue is empty (the paper's transfers are shorter than any
//! token holding time), so a receiver's ACKs come back in a batch.

use std::collections::VecDeque;

use tinygram_engine::Instant;

use super::{Carried, Frame, Side, Wire};

/// The ring.
#[derive(Clone, Debug)]
pub struct Fddi {
    wire: Wire,
    queues: [VecDeque<Frame>; 2],
    holder: Side,
    /// Until when the holder transmits.
    busy_until: Instant,
    next_event: Instant,
}

impl Fddi {
    /// An idle ring.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            queues: [VecDeque::new(), VecDeque::new()],
            holder: Side::Client,
            busy_until: Instant::ZERO,
            next_event: Instant::FAR_FUTURE,
        }
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    pub(super) fn next_event(&self) -> Instant {
        self.next_event
    }

    #[inline]
    pub(super) fn enqueue(&mut self, from: Side, frame: Frame) {
        self.next_event = self.next_event.min(frame.at.max(self.busy_until));
        self.queues[from.index()].push_back(frame);
    }

    /// The holder goes on if it has something ready; otherwise the token moves on.
    #[inline]
    pub(super) fn run(&mut self, now: Instant, carried: &mut Carried) {
        let ready = |queue: &VecDeque<Frame>| queue.front().is_some_and(|frame| frame.at <= now);
        if !ready(&self.queues[self.holder.index()])
            && ready(&self.queues[self.holder.other().index()])
        {
            self.holder = self.holder.other();
        }
        self.busy_until = self.busy_until.max(now);
        let queue = &mut self.queues[self.holder.index()];
        // All that is ready when its turn comes goes in one holding: nobody can come between.
        while let Some(frame) = queue.front().filter(|frame| frame.at <= self.busy_until) {
            self.busy_until += self.wire.occupies(frame.segment.len);
            let at = self.busy_until + self.wire.propagation;
            carried.deliver(self.holder.other(), Frame { at, ..*frame });
            queue.pop_front();
        }
        let first_ready = self
            .queues
            .iter()
            .filter_map(|queue| queue.front())
            .map(|frame| frame.at)
            .min();
        self.next_event = first_ready.map_or(Instant::FAR_FUTURE, |at| at.max(self.busy_until));
    }
}
