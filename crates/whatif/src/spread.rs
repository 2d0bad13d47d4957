//! How far the figures of a service move while nothing is changed: from one part of what was seen to the next. A host has other work
//! for seconds, and then none; turns that are drawn anew one by one do not show that, since all of a moment are late together.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::conversation::Turn;

/// How far figures may move from what was seen to what is measured next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Data segments a turn.
    pub(crate) segments: f64,
}

impl Spread {
    /// Returns the spread of turns, between parts of equal length: as far as the next part lies from the mean of all in nine of ten
    /// cases. Parts without a turn say nothing; of fewer than three it is nothing.
    pub(crate) fn of<'a>(turns: impl Iterator<Item = &'a Turn>) -> Self {
        let turns: Vec<&Turn> = turns.collect();
        let first = turns.iter().map(|turn| turn.begun_ns).min().unwrap_or(0);
        let last = turns.iter().map(|turn| turn.begun_ns).max().unwrap_or(0);
        let length = (last - first) / PARTS as u64 + 1;
        let mut parts: [Vec<&Turn>; PARTS] = Default::default();
        for turn in turns {
            parts[((turn.begun_ns - first) / length) as usize].push(turn);
        }
        let ms = |share: f64| {
            reach(parts.iter().filter_map(|part| {
                let mut all: Vec<f64> = part.iter().map(|turn| turn.seen_ns as f64 / 1e6).collect();
                all.sort_by(f64::total_cmp);
                quantile(&all, share)
            }))
        };
        let with_turns = parts.iter().filter(|part| !part.is_empty());
        let segments = with_turns.map(|part| {
            let segments: u64 = part.iter().map(|turn| turn.segments).sum();
            segments as f64 / part.len() as f64
        });
        Self {
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
            segments: reach(segments),
        }
    }
}

/// Returns a quantile of sorted numbers.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[(share * last as f64).round() as usize])
}

/// Returns how far the next one lies from the mean of a sample in nine of ten cases; zero of fewer than three.
fn reach(all: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = all.collect();
    if all.len() < 3 {
        return 0.0;
    }
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let squares: f64 = all.iter().map(|one| (one - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    let student = StudentsT::new(0.0, 1.0, count - 1.0).expect("two degrees of freedom at least");
    // The mean is a sample's itself: the difference has the variance of one and that of the mean.
    student.inverse_cdf(0.95) * (1.0 + 1.0 / count).sqrt() * deviation
}

/// In how many parts of equal length what was seen is cut.
const PARTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lateness::Late;

    fn turn(begun_ns: u64, seen_ns: u64) -> Turn {
        Turn {
            first: 0,
            next: None,
            end: 0,
            late: Late {
                ns: 0,
                deferred: false,
            },
            begun_ns,
            seen_ns,
            segments: 2,
        }
    }

    /// Returns the spread of the medians of eighty turns, one each 10 ms, that take 1 ms, or 30 where `is_late` says so.
    fn spread(is_late: impl Fn(u64) -> bool) -> f64 {
        let ms = |number| if is_late(number) { 30 } else { 1 };
        let turn = |number| turn(number * 10_000_000, ms(number) * 1_000_000);
        let turns: Vec<Turn> = (0..80).map(turn).collect();
        let spread = Spread::of(turns.iter());
        assert!(spread.segments.abs() < 1e-12);
        spread.p50_ms
    }

    #[test]
    fn what_is_late_together_moves_the_median_and_what_is_late_now_and_then_does_not() {
        assert!(spread(|turn| turn % 4 == 0).abs() < 1e-12);
        // Two of eight parts lie 29 ms above the others: the deviation is 13.424 ms, Student's quantile 1.895.
        let together = spread(|turn| turn < 20);
        let expected = 1.895 * 1.125_f64.sqrt() * 13.424;
        assert!((together - expected).abs() < 0.01, "{together}");
    }

    #[test]
    fn two_parts_say_nothing() {
        assert!(reach([1.0, 9.0].into_iter()).abs() < 1e-12);
    }

    #[test]
    fn the_fewer_parts_have_turns_the_wider_it_is() {
        let turns = [(0, 1), (300, 3), (700, 5)];
        let turns = turns.map(|(begun_ms, ms)| turn(begun_ms * 1_000_000, ms * 1_000_000));
        // The deviation is 2 ms, the quantile of two degrees of freedom 2.920.
        let p50_ms = Spread::of(turns.iter()).p50_ms;
        let expected = 2.920 * (4.0_f64 / 3.0).sqrt() * 2.0;
        assert!((p50_ms - expected).abs() < 0.01, "{p50_ms}");
    }
}
