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

/// How the requests a second of an open loop change. Each part lasts as long as [`LoadPlan::window`](super::LoadPlan::window);
/// before the first one its rate holds already.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The requests a second of each part; above 0, and two at least.
    pub rates: Arc<[f64]>,
    /// How they change.
    pub change: Change,
}

/// How a rate becomes the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// At once, when a part begins.
    Steps,
    /// Evenly over the part that begins with the earlier one.
    Ramps,
}

impl Course {
    /// Returns the requests a second at this time since the first part began, if each lasts for `part`.
    #[must_use]
    pub fn rate_at(&self, since: Duration, part: Duration) -> f64 {
        let parts = since.as_nanos() as f64 / part.as_nanos() as f64;
        let last = self.rates.len() - 1;
        let begun = (parts as usize).min(last);
        let rate = self.rates[begun];
        match self.change {
            Change::Steps => rate,
            Change::Ramps => {
                let next = self.rates[(begun + 1).min(last)];
                rate + (next - rate) * (parts - begun as f64).clamp(0.0, 1.0)
            }
        }
    }

    /// Returns the largest of its rates.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
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
        self.drawn(per_second, until, connections, seed, |_, _| true)
    }

    /// Draws the arrivals of a course, whose parts last for `part` each and begin after `warmup`.
    #[must_use]
    pub fn draw_course(
        self,
        course: &Course,
        [warmup, part]: [Duration; 2],
        connections: u32,
        seed: u64,
    ) -> Arc<[Arrival]> {
        let most = course.most();
        let until = warmup + part.times(course.rates.len() as u64);
        // A process with the largest rate, thinned to the rate of each instant.
        self.drawn(most, until, connections, seed, |at, times| {
            let since = at - warmup;
            times.unit() * most < course.rate_at(since, part)
        })
    }

    fn drawn(
        self,
        per_second: f64,
        until: Duration,
        connections: u32,
        seed: u64,
        mut comes: impl FnMut(Duration, &mut Dice) -> bool,
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
            if !comes(at, &mut times) {
                continue;
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
    fn a_course_has_the_rate_of_each_part() {
        let course = |change| Course {
            rates: [1_000.0, 9_000.0, 5_000.0].into(),
            change,
        };
        let counts = |change| {
            let drawn = Arrivals::Poisson.draw_course(&course(change), [SECOND, SECOND], 4, 7);
            let mut counts = [0_u32; 4];
            for arrival in drawn.iter() {
                counts[(arrival.at.as_nanos() / SECOND.as_nanos()) as usize] += 1;
            }
            counts
        };
        // Six standard deviations each.
        let near = |count: u32, mean: f64| (f64::from(count) - mean).abs() < 6.0 * mean.sqrt();
        let steps = counts(Change::Steps);
        let ramps = counts(Change::Ramps);
        for (count, mean) in steps.iter().zip([1e3, 1e3, 9e3, 5e3]) {
            assert!(near(*count, mean), "{steps:?}");
        }
        for (count, mean) in ramps.iter().zip([1e3, 5e3, 7e3, 5e3]) {
            assert!(near(*count, mean), "{ramps:?}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| Arrivals::Poisson.draw(100.0, SECOND, 4, seed);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
