//! Half-duplex Ethernet: one cable, carrier sense, collisions and binary exponential back-off (IEEE
//! 802.3, section 4.2.3.2).
//!
//! When a station with a long burst wins a collision, it starts its next frame with a fresh
//! back-off counter while the loser's has grown. This capture effect sometimes keeps an ACK off the
//! cable for tens of milliseconds.

use tinygram_engine::{Duration, Instant};

use super::{Side, UnderWay, Wire};
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
#[derive(Clone, Debug)]
struct Station {
    /// When the frame at the head of its queue is ready; `FAR_FUTURE` if there is none.
    ready_at: Instant,
    /// The collisions of that frame.
    collisions: u32,
    /// The time before which it makes no attempt.
    backs_off_until: Instant,
}

impl Station {
    const IDLE: Self = Self {
        ready_at: Instant::FAR_FUTURE,
        collisions: 0,
        backs_off_until: Instant::ZERO,
    };

    /// Returns when it would try to send if it heard no other station.
    #[inline]
    fn attempts_at(&self) -> Instant {
        self.ready_at.max(self.backs_off_until)
    }

    /// Starts afresh with the next frame, because the one at the head has left the queue.
    #[inline]
    fn go_on(&mut self, side: Side, under_way: &UnderWay) {
        *self = Self::IDLE;
        if let Some(frame) = under_way.waiting(side) {
            self.ready_at = frame.at;
        }
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
    /// Returns an idle cable.
    #[must_use]
    pub fn new(wire: Wire, dice: Dice) -> Self {
        Self {
            wire,
            stations: [Station::IDLE, Station::IDLE],
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

    /// Records that a station that had no frame to send has one now.
    #[inline]
    pub(super) fn enqueue(&mut self, from: Side, under_way: &UnderWay) {
        let station = &mut self.stations[from.index()];
        if station.ready_at == Instant::FAR_FUTURE
            && let Some(frame) = under_way.waiting(from)
        {
            station.ready_at = frame.at;
            self.plan();
        }
    }

    #[inline]
    fn plan(&mut self) {
        let [client, server] = &self.stations;
        let first = client.attempts_at().min(server.attempts_at());
        // No time is later than the far future.
        self.next_event = first.max(self.idle_from);
    }

    #[inline]
    pub(super) fn run(&mut self, now: Instant, under_way: &mut UnderWay) {
        // A station that starts less than the propagation time after the other has not heard it
        // yet.
        let deaf_until = now + self.wire.propagation;
        let [client, server] = [0, 1].map(|i| self.stations[i].attempts_at());
        if client < deaf_until && server < deaf_until {
            self.collide(now, under_way);
        } else if client <= server {
            self.transmit(Side::Client, now, under_way);
        } else {
            self.transmit(Side::Server, now, under_way);
        }
        self.plan();
    }

    #[inline]
    fn transmit(&mut self, side: Side, now: Instant, under_way: &mut UnderWay) {
        let Some(frame) = under_way.waiting(side) else {
            return;
        };
        self.idle_from = now + self.wire.occupies(frame.segment.len);
        under_way.deliver(side, self.idle_from + self.wire.propagation);
        self.stations[side.index()].go_on(side, under_way);
    }

    fn collide(&mut self, now: Instant, under_way: &mut UnderWay) {
        self.idle_from = now + self.collision + self.wire.propagation;
        for (side, station) in Side::BOTH.into_iter().zip(&mut self.stations) {
            station.collisions += 1;
            if station.collisions >= ATTEMPT_LIMIT {
                // `excessiveCollisionError`: the frame is lost.
                under_way.drop_waiting(side);
                station.go_on(side, under_way);
                continue;
            }
            let slots = self.dice.below(1 << station.collisions.min(BACKOFF_LIMIT));
            station.backs_off_until = self.idle_from + self.slot.times(slots);
        }
    }
}
