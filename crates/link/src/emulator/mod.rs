//! Emulates one direction of a link, without devices and clocks: packets go in with their times and
//! come out with their times.
//!
//! The path of a packet: the dice decide whether it is lost or duplicated; the queue accepts it or
//! is full; the wire carries one packet after the other at its rate; then the delay passes. If the
//! dice have picked a packet for reordering, it is held back a little longer, and those behind it
//! overtake it.
//!
//! Times count from an arbitrary start, which is the same for all calls, and never go back.

mod dice;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use dice::Dice;
pub use dice::Direction;
pub use tinygram_sim::medium::Impairment;

/// The rules of a direction: what it does to packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Bits per second of the wire, counting whole IP packets; `None` is a wire that takes no time.
    pub rate: Option<u64>,
    /// The one-way delay, from the last bit on the wire to the arrival.
    pub delay: Duration,
    /// The probabilities that a packet is lost, held back or sent twice.
    pub impairment: Impairment,
    /// How long a packet is held back beyond the delay.
    pub reorder_by: Duration,
    /// How many packets may wait for the wire, not counting the one that is on it; further packets
    /// are dropped.
    pub queue: usize,
}

impl Rules {
    /// The rules of a link that changes nothing.
    pub const NONE: Self = Self {
        rate: None,
        delay: Duration::ZERO,
        impairment: Impairment::NONE,
        reorder_by: Duration::ZERO,
        queue: 1000,
    };
}

/// The counts of what happened to the packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that arrived at the emulator.
    pub packets: u64,
    /// Their octets, IP headers included.
    pub octets: u64,
    /// Packets that left; duplicates are counted.
    pub delivered: u64,
    /// Their octets.
    pub delivered_octets: u64,
    /// Lost by the dice.
    pub lost: u64,
    /// Dropped because the queue was full.
    pub overflowed: u64,
    /// Held back by the dice.
    pub reordered: u64,
    /// Duplicated by the dice.
    pub duplicated: u64,
    /// The most packets that ever waited for the wire.
    pub queued_max: usize,
}

/// One direction of a link, carrying packets of type `P`.
#[derive(Debug)]
pub struct Path<P> {
    rules: Rules,
    dice: Dice,
    /// When the wire has sent everything that it has accepted.
    wire_free_at: Duration,
    /// When each waiting packet gets on the wire, the first packet first.
    boarding: VecDeque<Duration>,
    /// Ordered by arrival.
    in_flight: BinaryHeap<Reverse<Arrival<P>>>,
    held_octets: usize,
    accepted: u64,
    counts: Counts,
}

impl<P: AsRef<[u8]> + Clone> Path<P> {
    /// Returns an empty path. The two directions of a link share a seed and draw different numbers.
    #[must_use]
    pub fn new(rules: Rules, seed: u64, direction: Direction) -> Self {
        Self {
            rules,
            dice: Dice::new(seed, direction),
            wire_free_at: Duration::ZERO,
            boarding: VecDeque::new(),
            in_flight: BinaryHeap::new(),
            held_octets: 0,
            accepted: 0,
            counts: Counts::default(),
        }
    }

    /// Takes a packet that came at `now`.
    pub fn accept(&mut self, now: Duration, packet: P) {
        self.counts.packets += 1;
        self.counts.octets += packet.as_ref().len() as u64;
        // Every packet draws all numbers, so what happens to the tenth packet depends on the seed
        // alone and not on when it came.
        let odds = self.rules.impairment;
        let lost = self.dice.happens(odds.loss);
        let twice = self.dice.happens(odds.duplicate);
        let late = self.dice.happens(odds.reorder);
        if lost {
            self.counts.lost += 1;
            return;
        }
        if twice {
            self.counts.duplicated += 1;
            self.enqueue(now, packet.clone(), false);
        }
        self.counts.reordered += u64::from(late);
        self.enqueue(now, packet, late);
    }

    /// Returns when the next packet arrives, if one is on its way.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.in_flight.peek().map(|Reverse(first)| first.at)
    }

    /// Returns a packet that has arrived by `now`, with the time of its arrival; the earliest one first.
    pub fn take_due(&mut self, now: Duration) -> Option<(Duration, P)> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse(Arrival { at, packet, .. }) = self.in_flight.pop()?;
        self.held_octets -= packet.as_ref().len();
        self.counts.delivered += 1;
        self.counts.delivered_octets += packet.as_ref().len() as u64;
        Some((at, packet))
    }

    /// Returns what happened to the packets so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns how many packets are queued, on the wire or on their way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn enqueue(&mut self, now: Duration, packet: P, late: bool) {
        let octets = packet.as_ref().len();
        while self.boarding.front().is_some_and(|at| *at <= now) {
            self.boarding.pop_front();
        }
        let boards_at = now.max(self.wire_free_at);
        let waits = boards_at > now;
        let full = waits && self.boarding.len() >= self.rules.queue;
        if full || self.held_octets + octets > MOST_HELD {
            self.counts.overflowed += 1;
            return;
        }
        if waits {
            self.boarding.push_back(boards_at);
            self.counts.queued_max = self.counts.queued_max.max(self.boarding.len());
        }
        self.wire_free_at = boards_at + self.on_the_wire(octets);
        self.held_octets += octets;
        self.accepted += 1;
        let held_back = if late {
            self.rules.reorder_by
        } else {
            Duration::ZERO
        };
        self.in_flight.push(Reverse(Arrival {
            at: self.wire_free_at + self.rules.delay + held_back,
            number: self.accepted,
            packet,
        }));
    }

    /// Returns how long the wire takes for a packet, rounded up: the rate is never exceeded.
    fn on_the_wire(&self, octets: usize) -> Duration {
        let Some(rate) = self.rules.rate else {
            return Duration::ZERO;
        };
        let bit_nanos = octets as u128 * 8 * 1_000_000_000;
        Duration::from_nanos(bit_nanos.div_ceil(u128::from(rate)) as u64)
    }
}

/// A packet on its way. Ordered by time, and among equals by their order on the wire.
#[derive(Debug)]
struct Arrival<P> {
    at: Duration,
    number: u64,
    packet: P,
}

impl<P> Arrival<P> {
    fn key(&self) -> (Duration, u64) {
        (self.at, self.number)
    }
}

impl<P> PartialEq for Arrival<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Arrival<P> {}

impl<P> PartialOrd for Arrival<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Arrival<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The memory that one direction may use, in octets: a second of 2 Gbit/s. A longer or faster link
/// drops packets as if its queue were full.
const MOST_HELD: usize = 256 << 20;
