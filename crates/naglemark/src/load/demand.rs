//! When the requests of an open loop come.

use std::fmt;
use std::sync::Arc;

use tinygram_engine::Duration;
use tinygram_sim::dice::{Dice, Purpose};

/// How requests of an open loop come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Each by itself: a Poisson process.
    Poisson,
    /// Several at one instant and for one connection; the bursts are a Poisson process.
    Bursts {
        /// How many; at least 1.
        of: u32,
    },
}

/// Writes it as it is typed: `poisson`, `bursts:8`.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson => f.write_str("poisson"),
            Self::Bursts { of } => write!(f, "bursts:{of}"),
        }
    }
}

/// A request of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it is to be sent, since the beginning. Its latency counts from here, whether or not it could be sent then.
    pub at: Duration,
    /// The connection that it is for.
    pub connection: u32,
}

impl Arrivals {
    /// Draws the arrivals before `until`, so many a second (above 0), each for a random one of `connections`.
    #[must_use]
    pub fn draw(
        self,
        per_second: f64,
        until: Duration,
        connections: u32,
        seed: u64,
    ) -> Arc<[Arrival]> {
        let mut times = Dice::new(seed, Purpose::Arrivals);
        let mut choices = Dice::new(seed, Purpose::Connections);
        let of = match self {
            Self::Poisson => 1,
            Self::Bursts { of } => of.max(1),
        };
        let mut drawn = Vec::new();
        let mut at = Duration::ZERO;
        loop {
            let more = -libm::log(1.0 - times.unit()) * f64::from(of);
            at += seconds(more / per_second);
            if at >= until {
                return drawn.into();
            }
            let connection = choices.below(u64::from(connections.max(1))) as u32;
            drawn.extend((0..of).map(|_| Arrival { at, connection }));
        }
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9).clamp(0.0, 1e18) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_constant_rate_is_a_poisson_process() {
        let drawn = Arrivals::Poisson.draw(10_000.0, Duration::from_secs(10), 16, 7);
        // Standard deviation 316.
        assert!((99_000..101_000).contains(&drawn.len()), "{}", drawn.len());
        // The gaps' mean and standard deviation are equal.
        let gaps: Vec<f64> = drawn
            .windows(2)
            .map(|two| (two[1].at.as_nanos() - two[0].at.as_nanos()) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let ratio = variance.sqrt() / mean;
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        let on_first = drawn.iter().filter(|it| it.connection == 0).count();
        assert!((5_900..6_600).contains(&on_first), "{on_first}");
    }

    #[test]
    fn bursts_come_together_and_keep_the_rate() {
        let drawn = Arrivals::Bursts { of: 10 }.draw(10_000.0, Duration::from_secs(10), 16, 7);
        assert!((97_000..103_000).contains(&drawn.len()), "{}", drawn.len());
        for burst in drawn.chunks(10) {
            assert!(burst.iter().all(|it| it == &burst[0]));
        }
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| Arrivals::Poisson.draw(100.0, SECOND, 4, seed);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
