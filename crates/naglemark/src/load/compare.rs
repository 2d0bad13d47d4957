//! How many times one policy's latency is another's, with an interval.

use tinygram_sim::dice::{Dice, Purpose};

use super::envelope::Metric;
use super::measure::LoadRow;
use super::score::Times;

/// A ratio of two rows' latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean over the repetitions of both.
    pub value: f64,
    /// The lower bound of its 95 % interval.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Ratio {
    /// Returns whether the interval is on one side of 1.
    #[must_use]
    pub fn separates(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Returns how many times `of`'s latency is `against`'s: the geometric mean of the ratios of their repetitions, in pairs of
/// the same number, which met the same requests. The interval is the percentile bootstrap's over these pairs; with few of
/// them it is too narrow. `None` if there are less than two pairs.
#[must_use]
pub fn ratio(of: &LoadRow, against: &LoadRow, metric: Metric) -> Option<Ratio> {
    let pairs = of.score.repetitions.iter().zip(&against.score.repetitions);
    let log = |(one, other): (&Option<Times>, &Option<Times>)| {
        let [one, other] = [one, other].map(|times| times.as_ref().map(|it| latency(it, metric)));
        Some(libm::log(one? / other?))
    };
    let logs = pairs.filter_map(|(one, other)| log((&one.times, &other.times)));
    interval(&logs.collect::<Vec<f64>>())
}

const fn latency(times: &Times, metric: Metric) -> f64 {
    match metric {
        Metric::Mean => times.mean,
        Metric::P50 => times.p50,
        Metric::P99 => times.p99,
    }
}

fn interval(logs: &[f64]) -> Option<Ratio> {
    let count = logs.len();
    if count < 2 {
        return None;
    }
    let mean = |sum: f64| libm::exp(sum / count as f64);
    let mut dice = Dice::new(0, Purpose::Resampling);
    let mut resampled = || {
        let drawn = (0..count).map(|_| logs[dice.below(count as u64) as usize]);
        mean(drawn.sum())
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resampled()).collect();
    means.sort_by(f64::total_cmp);
    Some(Ratio {
        value: mean(logs.iter().sum()),
        low: means[RESAMPLES / 40],
        high: means[RESAMPLES - 1 - RESAMPLES / 40],
    })
}

const RESAMPLES: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_mean_within_and_no_more_than_was_seen() {
        let logs = [0.5_f64, 1.0, 2.0, 4.0].map(libm::log);
        let ratio = interval(&logs).expect("four pairs");
        assert!((ratio.value - 2.0_f64.sqrt()).abs() < 1e-9, "{ratio:?}");
        assert!(0.5 <= ratio.low && ratio.low < ratio.value, "{ratio:?}");
        assert!(ratio.value < ratio.high && ratio.high <= 4.0, "{ratio:?}");
        assert!(!ratio.separates());
        assert_eq!(interval(&logs[..1]), None);
    }

    #[test]
    fn the_same_ratio_each_time_is_certain() {
        let ratio = interval(&[libm::log(0.8); 5]).expect("five pairs");
        assert!((ratio.high - ratio.low).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.separates());
    }
}
