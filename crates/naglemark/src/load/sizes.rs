//! How long requests and answers are.

use std::fmt;

use tinygram_sim::dice::Dice;

/// A distribution of lengths, in octets. Every length is at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// Always the same.
    Fixed(u32),
    /// Uniform, both ends included.
    Uniform {
        /// The shortest.
        from: u32,
        /// The longest.
        to: u32,
    },
    /// Exponential, rounded up.
    Exponential {
        /// The mean.
        mean: u32,
    },
    /// Pareto's distribution between two bounds: many short ones, and a heavy tail.
    Pareto {
        /// The shortest.
        from: u32,
        /// The longest.
        to: u32,
        /// The tail's exponent, above 0: the smaller, the heavier.
        alpha: f64,
    },
}

impl Sizes {
    /// Draws a length.
    pub(super) fn draw(self, dice: &mut Dice) -> u32 {
        match self {
            Self::Fixed(octets) => octets.max(1),
            Self::Uniform { from, to } => {
                let choices = u64::from(to.saturating_sub(from)) + 1;
                (from + dice.below(choices) as u32).max(1)
            }
            Self::Exponential { mean } => {
                let drawn = -libm::log(1.0 - dice.unit()) * f64::from(mean);
                libm::ceil(drawn).clamp(1.0, f64::from(u32::MAX)) as u32
            }
            Self::Pareto { from, to, alpha } => {
                let (low, high) = (f64::from(from.max(1)), f64::from(to.max(from).max(1)));
                // The inverse of the bounded distribution's function.
                let rest = libm::pow(low / high, alpha);
                let drawn = low / libm::pow(1.0 - dice.unit() * (1.0 - rest), 1.0 / alpha);
                drawn.clamp(low, high) as u32
            }
        }
    }
}

/// Writes it as it is typed: `400`, `random:100..1000`, `exp:1000`, `pareto:100..100000:1.2`.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(octets) => write!(f, "{octets}"),
            Self::Uniform { from, to } => write!(f, "random:{from}..{to}"),
            Self::Exponential { mean } => write!(f, "exp:{mean}"),
            Self::Pareto { from, to, alpha } => write!(f, "pareto:{from}..{to}:{alpha}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tinygram_sim::dice::Purpose;

    use super::*;

    fn drawn(sizes: Sizes) -> Vec<u32> {
        let mut dice = Dice::new(1, Purpose::Lengths);
        (0..100_000).map(|_| sizes.draw(&mut dice)).collect()
    }

    fn mean(sizes: Sizes) -> f64 {
        let drawn = drawn(sizes);
        drawn.iter().map(|it| f64::from(*it)).sum::<f64>() / drawn.len() as f64
    }

    #[test]
    fn lengths_have_the_means_of_their_distributions() {
        assert_eq!(mean(Sizes::Fixed(400)), 400.0);
        let uniform = mean(Sizes::Uniform { from: 100, to: 300 });
        assert!((uniform - 200.0).abs() < 1.0, "{uniform}");
        // Rounding up adds a half.
        let exponential = mean(Sizes::Exponential { mean: 1000 });
        assert!((exponential - 1000.5).abs() < 10.0, "{exponential}");
        // (alpha / (alpha - 1)) low (1 - r^(alpha - 1)) / (1 - r^alpha), where r is low over high;
        // rounding down takes a half.
        let (from, to, alpha) = (100, 10_000, 2.0);
        let pareto = mean(Sizes::Pareto { from, to, alpha });
        let r: f64 = 0.01;
        let expected = 2.0 * 100.0 * (1.0 - r) / (1.0 - r * r) - 0.5;
        assert!((pareto - expected).abs() < 2.0, "{pareto} {expected}");
    }

    #[test]
    fn lengths_stay_within_their_bounds() {
        let bounds = |sizes| {
            let drawn = drawn(sizes);
            (drawn.iter().min().copied(), drawn.iter().max().copied())
        };
        assert_eq!(
            bounds(Sizes::Uniform { from: 5, to: 9 }),
            (Some(5), Some(9))
        );
        let (from, to, alpha) = (10, 50, 0.5);
        let (low, high) = bounds(Sizes::Pareto { from, to, alpha });
        assert!(low == Some(10) && high <= Some(50), "{low:?} {high:?}");
        assert_eq!(bounds(Sizes::Exponential { mean: 2 }).0, Some(1));
    }
}
