//! Random numbers: one seeded generator per purpose, so that drawing more for one purpose never
//! shifts another.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tinygram_engine::Duration;

/// A stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

/// The purpose of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Jitter of host 0's processing costs.
    Host0,
    /// Jitter of host 1's processing costs.
    Host1,
    /// Back-off after collisions.
    Backoff,
    /// Loss, reordering and duplication.
    Impairment,
    /// Lengths of messages.
    Lengths,
    /// Phases of clocks.
    Phase,
    /// When requests arrive.
    Arrivals,
    /// Which connections they are for.
    Connections,
    /// Lengths of requests, where they vary.
    Requests,
    /// The order in which what takes real time is measured.
    Order,
    /// What a bootstrap draws again.
    Resampling,
}

impl Dice {
    /// Returns the stream for `purpose` in the run with this seed.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let apart = (purpose as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ apart))
    }

    /// Returns a number below `bound` (at least 1), uniformly distributed (to within 2^-32).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(0 < bound && bound <= 1 << 32, "bound {bound}");
        ((self.0.next_u64() >> 32) * bound) >> 32
    }

    /// Returns true with this probability.
    #[inline]
    pub fn happens(&mut self, chance: f64) -> bool {
        chance > 0.0 && self.unit() < chance
    }

    /// Returns a number from 0 (included) to 1 (excluded), uniformly distributed.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns `nominal`, randomly up to `percent` shorter or longer.
    #[inline]
    pub fn jitter(&mut self, nominal: Duration, percent: u64) -> Duration {
        let range = nominal.as_nanos() * percent / 100;
        if range == 0 {
            return nominal;
        }
        let draw = ((self.0.next_u64() >> 32) * (2 * range + 1)) >> 32;
        Duration::from_nanos(nominal.as_nanos() - range + draw)
    }
}
