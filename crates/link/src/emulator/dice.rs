//! Random decisions: one seeded stream for each direction, so that traffic in one direction never
//! changes the decisions for the other.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A direction of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first end to the second.
    There,
    /// From the second end to the first.
    Back,
}

#[derive(Debug)]
pub(super) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(super) fn new(seed: u64, direction: Direction) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        if direction == Direction::Back {
            // This stream begins 2^128 draws later, so the two streams never overlap.
            generator.jump();
        }
        Self(generator)
    }

    /// Returns whether something with this chance happens. Draws a number even if the chance is 0
    /// or 1.
    pub(super) fn happens(&mut self, chance: f64) -> bool {
        // 53 random bits give an evenly spaced fraction.
        let drawn = (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < chance
    }
}
