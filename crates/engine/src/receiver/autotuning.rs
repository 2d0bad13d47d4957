//! A receive buffer that grows with its use (dynamic right-sizing; Linux: `tcp_rcv_space_adjust`).

use super::Receiver;
use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// How much the application read in each round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tuning {
    /// When the present measurement began, and how far the application had read then.
    began: Instant,
    from: Option<Offset>,
}

impl Receiver {
    /// Sets the most octets to which the buffer may grow.
    pub(crate) fn may_grow_to(&mut self, most: Option<u64>) {
        self.most = most.unwrap_or(0);
    }

    /// Handles a read by the application: after each round trip the buffer grows to hold twice what
    /// was read in it, so that a sender in slow start is not held back (Fisk and Feng, section 3).
    pub(crate) fn grow_with_reading(&mut self, now: Instant, round_trip: Option<Duration>) {
        if self.most <= self.capacity {
            return;
        }
        let Some(round_trip) = round_trip else {
            return;
        };
        let Some(from) = self.tuning.from else {
            self.tuning = Tuning {
                began: now,
                from: Some(self.read),
            };
            return;
        };
        if now.since(self.tuning.began) < round_trip {
            return;
        }
        let wanted = 2 * self.read.since(from) + 16 * u64::from(self.mss);
        self.capacity = self.capacity.max(wanted.min(self.most));
        self.tuning = Tuning {
            began: now,
            from: Some(self.read),
        };
    }

    /// Sets the buffer's size from now on, in octets (SO_RCVBUF). What was announced is still
    /// accepted.
    pub(crate) fn set_capacity(&mut self, octets: u64) {
        self.capacity = match &mut self.unlimited {
            None => octets,
            Some(unlimited) => {
                *unlimited = (octets, 0);
                self.capacity.min(octets)
            }
        };
        self.most = 0;
    }

    /// Returns the buffer's size, in octets.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}
