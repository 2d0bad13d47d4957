//! All connections of a capture over its time, with what was found in them.

use std::cmp::Reverse;
use std::fmt::Write;

use tinygram_diagnose::{ConnectionReport, Finding};

use super::super::results::Capture;
use super::markup::{ZOOM, clock, escape};
use super::plot::step;

/// Returns the timeline as a figure; empty if there is no connection.
pub(super) fn of(capture: &Capture) -> String {
    let mut rows: Vec<_> = capture.report.connections.iter().collect();
    rows.sort_by_key(|c| (Reverse(c.cost_ns), Reverse(c.stalls), Reverse(c.frames)));
    let all = rows.len();
    rows.truncate(ROWS);
    rows.sort_by_key(|c| c.first_ns);
    if rows.is_empty() {
        return String::new();
    }
    let summary = &capture.report.summary;
    let scale = Scale {
        from_ns: summary.first_ns,
        ns: (summary.last_ns - summary.first_ns).max(1) as f64,
    };
    let height = TOP + ROW * rows.len() as f64 + 24.0;
    let mut out = format!(
        "<h2>Timeline</h2><svg class=\"zoom timeline\" tabindex=\"0\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"connections of {} over time\">",
        escape(&capture.name)
    );
    for (number, c) in rows.iter().enumerate() {
        row(&mut out, capture, c, &scale, TOP + ROW * number as f64);
    }
    axis(&mut out, &scale, height);
    out += "</svg>";
    let shown = match all - rows.len() {
        0 => String::new(),
        more => format!(
            " The costliest and largest {}; {more} more are in the capture.",
            rows.len()
        ),
    };
    let _ = write!(
        out,
        "<p class=\"name\">Lines: connections. Red: stalls; ochre: floods; hollow: possible. Times are UTC.{shown} {ZOOM}</p>"
    );
    out
}

struct Scale {
    from_ns: i64,
    ns: f64,
}

impl Scale {
    fn x(&self, time_ns: i64) -> f64 {
        LEFT + (time_ns - self.from_ns) as f64 / self.ns * (WIDTH - 2.0 * LEFT)
    }
}

fn row(out: &mut String, capture: &Capture, c: &ConnectionReport, scale: &Scale, top: f64) {
    let (from, to) = (scale.x(c.first_ns), scale.x(c.last_ns));
    let middle = top + ROW - 8.0;
    let _ = write!(
        out,
        "<text class=\"dim\" x=\"{LEFT}\" y=\"{:.1}\">{}: {} &rarr; {}</text>\
         <path class=\"life\" d=\"M{from:.1} {middle:.1}H{:.1}\"/>",
        top + ROW - 16.0,
        c.id,
        c.client,
        c.server,
        to.max(from + 1.0)
    );
    let own = capture
        .report
        .findings
        .iter()
        .filter(|f| f.connection == c.id);
    for finding in own.take(MARKS) {
        mark(out, finding, scale, middle);
    }
}

fn mark(out: &mut String, finding: &Finding, scale: &Scale, middle: f64) {
    let end_ns = finding
        .frames
        .last()
        .map_or(finding.start_ns, |m| m.time_ns);
    let (from, to) = (scale.x(finding.start_ns), scale.x(end_ns));
    let class = match (finding.kind.is_stall(), finding.tier.accuses()) {
        (false, _) => "flood",
        (true, true) => "stall",
        (true, false) => "maybe",
    };
    let frames: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{from:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"10\">\
         <title>{} {}, {}, frames {}</title></rect>",
        middle - 5.0,
        (to - from).max(1.5),
        clock(finding.start_ns),
        finding.kind.title(),
        finding.cost(),
        frames.join(", ")
    );
}

fn axis(out: &mut String, scale: &Scale, height: f64) {
    let step_ns = step(scale.ns);
    let mut tick_ns = 0.0;
    while tick_ns <= scale.ns {
        let x = scale.x(scale.from_ns + tick_ns as i64);
        // The last label must not run out of the picture.
        let anchor = match x {
            x if x < 60.0 => "start",
            x if x > WIDTH - 60.0 => "end",
            _ => "middle",
        };
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{x:.1} {TOP}V{:.1}\"/>\
             <text class=\"dim tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            height - 20.0,
            height - 4.0,
            clock(scale.from_ns + tick_ns as i64)
        );
        tick_ns += step_ns;
    }
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 10.0;
const TOP: f64 = 4.0;
const ROW: f64 = 34.0;
/// Connections, and findings of one, that are drawn.
const ROWS: usize = 40;
const MARKS: usize = 1_000;
