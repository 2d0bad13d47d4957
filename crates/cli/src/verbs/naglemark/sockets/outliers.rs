//! Whether a machine was quiet enough: transfers that took far longer than the others without being
//! stalled, by the modified Z-score (Iglewicz and Hoaglin, 1993), with the limit that hyperfine
//! uses.

/// A line, if there are outliers. Times in milliseconds.
pub(super) fn note(times: &[f64]) -> Option<String> {
    let median = median(times)?;
    let deviations: Vec<f64> = times.iter().map(|time| (time - median).abs()).collect();
    let spread = self::median(&deviations)? * TO_STANDARD_DEVIATION;
    let far = median + LIMIT * spread;
    let outliers = times.iter().filter(|time| **time > far).count();
    let worst = times.iter().copied().fold(0.0, f64::max);
    // A few are in every run of thousands.
    (outliers * 100 > times.len()).then(|| {
        format!(
            "{outliers} of {} transfers without a stall took over {far:.3} ms (median {median:.3} ms, worst \
             {worst:.3} ms): the machine was busy, and means and percentiles say less",
            times.len()
        )
    })
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
        assert_eq!(note(&times), None);
        assert_eq!(note(&[]), None);
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
        let line = note(&times).unwrap();
        assert!(
            line.starts_with("50 of 1000") && line.contains("worst 9.000 ms"),
            "{line}"
        );
    }
}
