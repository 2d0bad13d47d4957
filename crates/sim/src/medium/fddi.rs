//! FDDI: a token ring, which two hosts use like a half-duplex line.
//!
//! The station with the token keeps it until its queue is empty (the paper's transfers are shorter
//! than any token holding time), so a receiver's ACKs return in a batch.

use tinygram_engine::Instant;

use super::{Side, UnderWay, Wire};

/// The ring.
#[derive(Clone, Debug)]
pub struct Fddi {
    wire: Wire,
    holder: Side,
    /// The time until which the holder transmits.
    busy_until: Instant,
    next_event: Instant,
}

impl Fddi {
    /// Returns an idle ring.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            holder: Side::Client,
            busy_until: Instant::ZERO,
            next_event: Instant::FAR_FUTURE,
        }
    }

    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    #[inline]
    pub(super) fn next_event(&self) -> Instant {
        self.next_event
    }

    /// Records that a station has frames to send.
    #[inline]
    pub(super) fn enqueue(&mut self, from: Side, under_way: &UnderWay) {
        if let Some(frame) = under_way.waiting(from) {
            self.next_event = self.next_event.min(frame.at.max(self.busy_until));
        }
    }

    /// Lets the holder continue if it has a frame ready; otherwise moves the token on.
    #[inline]
    pub(super) fn run(&mut self, now: Instant, under_way: &mut UnderWay) {
        let ready_at = |side, under_way: &UnderWay| {
            let first = under_way.waiting(side);
            first.map_or(Instant::FAR_FUTURE, |frame| frame.at)
        };
        let other = ready_at(self.holder.other(), under_way);
        let mut own = ready_at(self.holder, under_way);
        let mut behind = other;
        if own > now && other <= now {
            self.holder = self.holder.other();
            (own, behind) = (other, own);
        }
        self.busy_until = self.busy_until.max(now);
        // Everything that is ready when the token arrives leaves while it is held: nobody can
        // interrupt.
        while let Some(frame) = under_way.waiting(self.holder) {
            own = frame.at;
            if own > self.busy_until {
                break;
            }
            self.busy_until += self.wire.occupies(frame.segment.len);
            under_way.deliver(self.holder, self.busy_until + self.wire.propagation);
            own = Instant::FAR_FUTURE;
        }
        let first = own.min(behind);
        self.next_event = if first == Instant::FAR_FUTURE {
            first
        } else {
            first.max(self.busy_until)
        };
    }
}
