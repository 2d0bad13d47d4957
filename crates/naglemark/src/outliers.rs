//! Checks whether a machine was quiet enough. It looks for transfers that took far longer than the
//! others without a stall, by the modified Z-score (Iglewicz and Hoaglin, 1993), with the limit
//! that hyperfine uses.

use std::fmt;

/// Too many outliers. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outliers {
    count: usize,
    transfers: usize,
    /// A transfer that took longer than this is an outlier.
    far: f64,
    median: f64,
    worst: f64,
}

/// Returns the outliers among these times, if there are more than a few.
pub(crate) fn found(times: &[f64]) -> Option<Outliers> {
    let median = median(times)?;
    let deviations: Vec<f64> = times.iter().map(|time| (time - median).abs()).collect();
    let spread = self::median(&deviations)? * TO_STANDARD_DEVIATION;
    let far = median + LIMIT * spread;
    let count = times.iter().filter(|time| **time > far).count();
    let worst = times.iter().copied().fold(0.0, f64::max);
    // Every run of thousands of transfers has a few outliers.
    (count * 100 > times.len()).then_some(Outliers {
        count,
        transfers: times.len(),
        far,
        median,
        worst,
    })
}

impl Outliers {
    /// Returns the share of all transfers.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.count as f64 / self.transfers as f64
    }
}

impl fmt::Display for Outliers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            transfers,
            far,
            median,
            worst,
        } = self;
        write!(
            f,
            "{count} of {transfers} transfers without a stall took over {far:.3} ms (median {median:.3} ms, \
             worst {worst:.3} ms): the machine was busy, and means and percentiles say less"
        )
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some((upper + lower) / 2.0)
}

/// The median absolute deviation of a normal distribution times this is its standard deviation.
const TO_STANDARD_DEVIATION: f64 = 1.4826;
/// In standard deviations.
const LIMIT: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_machine_is_not_remarked_on() {
        let times: Vec<f64> = (0..1000).map(|n| 1.0 + f64::from(n % 7) / 100.0).collect();
        assert_eq!(found(&times), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn a_busy_one_is() {
        let busy = |n| {
            if n % 20 == 0 {
                9.0
            } else {
                1.0 + f64::from(n % 7) / 100.0
            }
        };
        let times: Vec<f64> = (0..1000).map(busy).collect();
        let line = found(&times).unwrap().to_string();
        assert!(
            line.starts_with("50 of 1000") && line.contains("worst 9.000 ms"),
            "{line}"
        );
    }
}
