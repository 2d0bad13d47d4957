//! What several experiments of this paper show: rows about a measure, and transfers that were delayed beside the others.

use tinygram_naglemark::Sample;

use crate::experiment::{Class, PlotMark, PlotSeries, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// Returns the row of a measure.
pub(super) fn row(
    measure: impl Into<String>,
    standard: Option<Standard>,
    reproduced: PaperValue,
    tolerance: Tolerance,
    class: Class,
) -> Row {
    Row {
        cell: vec![("measure", PaperValue::Text(measure.into()))],
        standard,
        reproduced,
        tolerance,
        class,
    }
}

/// Returns a value in words.
pub(super) fn text(words: &str) -> PaperValue {
    PaperValue::Text(words.into())
}

/// Returns how long a transfer took, in milliseconds.
pub(super) fn elapsed_ms(sample: &Sample) -> f64 {
    sample.elapsed.as_nanos() as f64 / 1e6
}

/// Returns what was not delayed as dots and what was as crosses; `points` is told whether it is asked for those.
pub(super) fn by_delay(points: impl Fn(bool) -> Vec<(f64, f64)>) -> [PlotSeries; 2] {
    let series = |name: &str, mark, delayed| PlotSeries {
        name: name.into(),
        mark,
        points: points(delayed),
    };
    [
        series("not delayed", PlotMark::Dots, false),
        series("delayed", PlotMark::Crosses, true),
    ]
}
