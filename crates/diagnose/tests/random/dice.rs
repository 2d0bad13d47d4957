//! All randomness of a capture, from one seed.

/// SplitMix64 (Steele, Lea, Flood 2014): a seed gives the same draws on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 up to, not including, 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.share() < chance
    }

    /// Returns a number from the first to the last, both included.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.draw() % (last - first + 1)
    }

    /// As above, but every order of magnitude is equally likely.
    pub(crate) fn scale(&mut self, first: u64, last: u64) -> u64 {
        let (low, high) = ((first as f64).ln(), (last as f64).ln());
        (low + self.share() * (high - low)).exp().round() as u64
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize].clone()
    }

    /// Returns separate dice for a part of the capture.
    pub(crate) fn part(&mut self) -> Self {
        Self(self.draw())
    }
}
