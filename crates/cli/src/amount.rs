//! Amounts in words: what is estimated, and when something was.

use tinygram_whatif::prediction::Estimate;

/// Returns a number with three digits that count.
pub(crate) fn three(number: f64) -> String {
    let digits = match number.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{number:.digits$}")
}

/// Returns a time in seconds since the epoch as RFC 3339 writes it; nothing if no calendar has it.
pub(crate) fn moment(seconds: u64) -> String {
    let at = i64::try_from(seconds).ok();
    let at = at.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// Tells an estimate with its unit and its interval: `4.20 ms [3.91, 4.55]`.
pub(crate) fn interval(estimate: Estimate, unit: &str) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(three);
    format!("{value}{unit} [{low}, {high}]")
}

/// Tells what becomes of a figure, by its estimates without a change and with it.
pub(crate) fn becomes(
    name: &str,
    unit: &str,
    (without, with): (Option<Estimate>, Option<Estimate>),
) -> String {
    without.zip(with).map_or_else(
        || format!("{name} cannot be told"),
        |(one, other)| format!("{name} {} -> {}", three(one.value), interval(other, unit)),
    )
}
