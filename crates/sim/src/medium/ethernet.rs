//! Ethernet as it was: one cable, carrier sense, collisions and binary exponential back-off
//! (IEEE 802.3, section 4.2.3.2).
//!
//! The sender of a long burst that wins a collision starts its next frame with a fresh back-off
//! counter while the loser's has grown: the capture effect, which now and then keeps an ACK off
//! the cable for tens of milliseconds.

use std::collections::VecDeque;

use tinygram_engine::{Duration, Instant};

use super::{Carried, Frame, Side, Wire};
use crate::dice::Dice;

/// `slotTime`: 512 bit times.
const SLOT_OCTETS: u64 = 64;
/// A jam lasts 32 bit times after a preamble of 64.
const COLLISION_OCTETS: u64 = 12;
/// `backoffLimit`.
const BACKOFF_LIMIT: u32 = 10;
/// `attemptLimit`: after this many collisions a frame is given up.
const ATTEMPT_LIMIT: u32 = 16;

/// One station on the cable.
#[derive(Clone, Debug, Default)]
struct Station {
    queue: VecDeque<Frame>,
    /// Collisions of the frame at the head.
    collisions: u32,
    /// No attempt before this time.
    backs_off_until: Instant,
}

impl Station {
    /// When it would try to send, if it could hear nobody.
    fn attempts_at(&self) -> Instant {
        self.queue.front().map_or(Instant::FAR_FUTURE, |frame| {
            frame.at.max(self.backs_off_until)
        })
    }
}

/// The cable.
#[derive(Clone, Debug)]
pub struct Ethernet {
    wire: Wire,
    stations: [Station; 2],
    idle_from: Instant,
    next_event: Instant,
    dice: Dice,
    slot: Duration,
    collision: Duration,
}

impl Ethernet {
    /// A silent cable.
    #[must_use]
    pub fn new(wire: Wire, dice: Dice) -> Self {
        Self {
            wire,
            stations: [Station::default(), Station::default()],
            idle_from: Instant::ZERO,
            next_event: Instant::FAR_FUTURE,
            dice,
            slot: wire.takes(SLOT_OCTETS),
            collision: wire.takes(COLLISION_OCTETS),
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
        self.stations[from.index()].queue.push_back(frame);
        self.plan();
    }

    #[inline]
    fn plan(&mut self) {
        let first = self.stations[0]
            .attempts_at()
            .min(self.stations[1].attempts_at());
        self.next_event = if first == Instant::FAR_FUTURE {
            first
        } else {
            first.max(self.idle_from)
        };
    }

    #[inline]
    pub(super) fn run(&mut self, now: Instant, carried: &mut Carried) {
        // Who starts later than the other by less than the propagation has not heard it yet.
        let deaf_until = now + self.wire.propagation;
        let [client, server] = [0, 1].map(|i| self.stations[i].attempts_at());
        if client < deaf_until && server < deaf_until {
            self.collide(now);
        } else {
            let side = if client <= server {
                Side::Client
            } else {
                Side::Server
            };
            self.transmit(side, now, carried);
        }
        self.plan();
    }

    #[inline]
    fn transmit(&mut self, side: Side, now: Instant, carried: &mut Carried) {
        let station = &mut self.stations[side.index()];
        let Some(frame) = station.queue.front() else {
            return;
        };
        self.idle_from = now + self.wire.occupies(frame.segment.len);
        let at = self.idle_from + self.wire.propagation;
        carried.deliver(side.other(), Frame { at, ..*frame });
        station.queue.pop_front();
        station.collisions = 0;
        station.backs_off_until = Instant::ZERO;
    }

    fn collide(&mut self, now: Instant) {
        self.idle_from = now + self.collision + self.wire.propagation;
        for station in &mut self.stations {
            station.collisions += 1;
            if station.collisions >= ATTEMPT_LIMIT {
                // `excessiveCollisionError`: the frame is lost.
                station.queue.pop_front();
                station.collisions = 0;
                station.backs_off_until = Instant::ZERO;
                continue;
            }
            let slots = self.dice.below(1 << station.collisions.min(BACKOFF_LIMIT));
            station.backs_off_until = self.idle_from + self.slot.times(slots);
        }
    }
}
