//! The plane as a picture.

use tinygram_papers::moldeklev::plane::Pair;
use tinygram_papers::moldeklev::predict::Threshold;
use tinygram_report::{Figure, Line, Point};

use super::super::plan::Parameters;

/// The plane around the buffers that were asked about, as SVG.
pub(in super::super) fn plane(
    parameters: &Parameters,
    threshold: &Threshold,
    pairs: &[Pair],
) -> String {
    let mss = f64::from(parameters.mss);
    let points = pairs.iter().map(|pair| Point {
        x: pair.receive as f64,
        y: pair.send as f64,
        marked: pair.deadlocks,
    });
    let slope = threshold.share.map(|(percent, _)| percent as f64 / 100.0);
    let level = threshold.segments.map(|octets| octets as f64);
    let bounds = [("(1)", 0.0, false), ("(2)", mss, true)];
    let lines = bounds.into_iter().flat_map(|(name, more, dashed)| {
        let line = |at_zero: f64, slope: f64| Line {
            name: name.into(),
            at_zero: at_zero + more,
            slope,
            dashed,
        };
        let share = slope.map(|slope| line(0.0, slope));
        let segments = level.map(|level| line(level, 0.0));
        [share, segments].into_iter().flatten().collect::<Vec<_>>()
    });
    let figure = Figure {
        title: format!(
            "Buffers that deadlock, MSS {}, {}",
            parameters.mss, parameters.profile
        ),
        subtitle: "crosses deadlock; below both lines (1) all do, above either line (2) none"
            .into(),
        x_label: "receive buffer (bytes)".into(),
        y_label: "send buffer (bytes)".into(),
        points: points.collect(),
        lines: lines.collect(),
    };
    figure.to_svg()
}
