//! When requests come: open-loop arrivals at a rate that may change, or a closed loop.

use std::sync::Arc;

use tinygram_engine::Duration;
use tinygram_sim::dice::{Dice, Purpose};

/// How many requests come in a second, over time. Between two knots the rate changes in a straight line; two knots at
/// one time are a step; after the last knot it stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// At least one; the first is at 0.
    knots: Vec<(Duration, f64)>,
}

impl Rate {
    /// Returns a rate that does not change, in requests a second; above 0.
    #[must_use]
    pub fn constant(per_second: f64) -> Self {
        Self {
            knots: vec![(Duration::ZERO, per_second)],
        }
    }

    /// Returns a rate with these knots: a time since the beginning, and the requests a second then. `None` unless the
    /// first is at 0, times never go back, rates are finite and not negative, and the last is above 0.
    #[must_use]
    pub fn through(knots: Vec<(Duration, f64)>) -> Option<Self> {
        let first = knots.first()?.0 == Duration::ZERO;
        let ordered = knots.windows(2).all(|two| two[0].0 <= two[1].0);
        let sound = knots
            .iter()
            .all(|(_, rate)| rate.is_finite() && *rate >= 0.0);
        let lasts = knots.last()?.1 > 0.0;
        (first && ordered && sound && lasts).then_some(Self { knots })
    }

    /// Returns the requests a second at this time; at a step those after it.
    #[must_use]
    pub fn at(&self, time: Duration) -> f64 {
        let after = self.knots.partition_point(|(at, _)| *at <= time);
        let (from, rate) = self.knots[after.max(1) - 1];
        match self.knots.get(after) {
            None => rate,
            Some(&(to, next)) => rate + (next - rate) * share(from, to, time),
        }
    }

    /// Returns the time by which this many requests more than at `from` are expected.
    fn after(&self, from: Duration, mut more: f64) -> Duration {
        let mut time = from;
        loop {
            let rate = self.at(time);
            let next = self.knots.iter().find(|(at, _)| *at > time);
            let Some(&(to, _)) = next else {
                return time + seconds(more / rate);
            };
            let length = to.since(time);
            // Just before the knot, for the rate may step there.
            let end = self.before(to);
            let slope = (end - rate) / length;
            let expected = (rate + end) / 2.0 * length;
            if expected > more {
                // rate t + slope t^2 / 2 = more
                let root = libm::sqrt(rate * rate + 2.0 * slope * more);
                return time + seconds(2.0 * more / (rate + root));
            }
            more -= expected;
            time = to;
        }
    }

    /// Returns the rate that a knot's earlier side has.
    fn before(&self, knot: Duration) -> f64 {
        let first = self.knots.partition_point(|(at, _)| *at < knot);
        self.knots[first].1
    }
}

/// Returns how much of the way from `from` to `to` is done at `time`.
fn share(from: Duration, to: Duration, time: Duration) -> f64 {
    time.since(from) / to.since(from)
}

fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9).clamp(0.0, 1e18) as u64)
}

/// The difference of two times, in seconds.
trait Since {
    fn since(self, earlier: Self) -> f64;
}

impl Since for Duration {
    fn since(self, earlier: Self) -> f64 {
        self.as_nanos().saturating_sub(earlier.as_nanos()) as f64 / 1e9
    }
}

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

/// A request of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it is to be sent, since the beginning. Its latency counts from here, whether or not it could be sent then.
    pub at: Duration,
    /// The connection that it is for.
    pub connection: u32,
}

impl Arrivals {
    /// Draws the arrivals before `until`, each for a random one of `connections`.
    #[must_use]
    pub fn draw(self, rate: &Rate, until: Duration, connections: u32, seed: u64) -> Arc<[Arrival]> {
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
            at = rate.after(at, more);
            if at >= until {
                return drawn.into();
            }
            let connection = choices.below(u64::from(connections.max(1))) as u32;
            drawn.extend((0..of).map(|_| Arrival { at, connection }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn counted(arrivals: &[Arrival], from: Duration, to: Duration) -> usize {
        arrivals
            .iter()
            .filter(|it| from <= it.at && it.at < to)
            .count()
    }

    #[test]
    fn a_constant_rate_is_a_poisson_process() {
        let rate = Rate::constant(10_000.0);
        let drawn = Arrivals::Poisson.draw(&rate, Duration::from_secs(10), 16, 7);
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
        let rate = Rate::constant(10_000.0);
        let drawn = Arrivals::Bursts { of: 10 }.draw(&rate, Duration::from_secs(10), 16, 7);
        assert!((97_000..103_000).contains(&drawn.len()), "{}", drawn.len());
        for burst in drawn.chunks(10) {
            assert!(burst.iter().all(|it| it == &burst[0]));
        }
    }

    #[test]
    fn a_rate_ramps_and_steps() {
        let two = Duration::from_secs(2);
        let knots = vec![
            (Duration::ZERO, 0.0),
            (SECOND, 10_000.0),
            (SECOND, 2_000.0),
            (two, 2_000.0),
            (two, 30_000.0),
        ];
        let rate = Rate::through(knots).expect("it is in order");
        assert_eq!(rate.at(Duration::from_millis(500)), 5_000.0);
        assert_eq!(rate.at(SECOND), 2_000.0);
        assert_eq!(rate.at(two), 30_000.0);
        let drawn = Arrivals::Poisson.draw(&rate, Duration::from_secs(3), 1, 3);
        let half = Duration::from_millis(500);
        for (from, to, expected) in [
            (Duration::ZERO, half, 1_250.0),
            (half, SECOND, 3_750.0),
            (SECOND, two, 2_000.0),
            (two, Duration::from_secs(3), 30_000.0_f64),
        ] {
            let found = counted(&drawn, from, to) as f64;
            assert!(
                (found - expected).abs() < 4.0 * expected.sqrt(),
                "{found} {expected}"
            );
        }
    }

    #[test]
    fn a_rate_that_makes_no_sense_is_refused() {
        assert_eq!(Rate::through(Vec::new()), None);
        assert_eq!(Rate::through(vec![(SECOND, 1.0)]), None);
        assert_eq!(Rate::through(vec![(Duration::ZERO, 0.0)]), None);
        let back = vec![(Duration::ZERO, 1.0), (SECOND, 1.0), (Duration::ZERO, 1.0)];
        assert_eq!(Rate::through(back), None);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| Arrivals::Poisson.draw(&Rate::constant(100.0), SECOND, 4, seed);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
