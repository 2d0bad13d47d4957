//! The plane as a picture.

use tinygram_papers::moldeklev::plane::Pair;
use tinygram_papers::moldeklev::predict::AckThreshold;
use tinygram_report::{Axis, Chart, Line, Mark, Point, Series};

use super::super::plan::Parameters;

/// Returns the plane around the given buffers, as SVG.
pub(in super::super) fn plane(
    parameters: &Parameters,
    threshold: &AckThreshold,
    pairs: &[Pair],
) -> String {
    let mss = f64::from(parameters.mss);
    let (deadlocking, others): (Vec<_>, Vec<_>) = pairs.iter().partition(|it| it.deadlocks);
    let points = |of: &[&Pair]| {
        let point = |it: &&Pair| Point::at(it.receive as f64, it.send as f64);
        of.iter().map(point).collect()
    };
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
    let asked = Point::at(
        parameters.receive_buffer as f64,
        parameters.send_buffer as f64,
    );
    let chart = Chart {
        title: format!(
            "Buffers that deadlock, MSS {}, {}",
            parameters.mss, parameters.profile
        ),
        subtitle: format!(
            "crosses deadlock; below both lines (1) all do, above either line (2) none; the ring is S = {}, R = {}",
            parameters.send_buffer, parameters.receive_buffer
        ),
        x: Axis::new("receive buffer", "bytes"),
        y: Axis::new("send buffer", "bytes"),
        series: vec![
            Series::new("no deadlock", Mark::Dots, points(&others)),
            Series::new("deadlock", Mark::Crosses, points(&deadlocking)),
            Series::new("asked about", Mark::Rings, vec![asked]),
        ],
        lines: lines.collect(),
        ..Chart::default()
    };
    chart.to_svg()
}
