//! A timeline of all connections of a capture, with their findings.

use std::cmp::Reverse;

use tinygram_diagnose::{ConnectionReport, Finding};
use tinygram_report::{Axis, Chart, Mark, Point, Scale, Series, Tone};

use super::time_sequence::{clock, milliseconds, of_day};
use crate::capture::Capture;

/// Returns the timeline of a capture, if it has a connection.
pub(super) fn of(capture: &Capture) -> Option<Chart> {
    let mut connections: Vec<_> = capture.report.connections.iter().collect();
    connections.sort_by_key(|it| (Reverse(it.cost_ns), Reverse(it.stalls), Reverse(it.frames)));
    let all = connections.len();
    connections.truncate(ROWS);
    connections.sort_by_key(|it| it.first_ns);
    if connections.is_empty() {
        return None;
    }
    let from_ns = capture.report.summary.first_ns;
    let names = connections.iter();
    let names = names.map(|it| format!("{}: {} \u{2192} {}", it.id, it.client, it.server));
    Some(Chart {
        title: format!("Timeline of {}", capture.name),
        subtitle: match all - connections.len() {
            0 => String::new(),
            more => format!("The {ROWS} costliest and largest; {more} more are in the capture."),
        },
        x: Axis {
            scale: Scale::Clock(of_day(from_ns)),
            ..Axis::new("time of day, UTC", "")
        },
        y: Axis::rows(names.collect()),
        series: series(capture, &connections, from_ns),
        ..Chart::default()
    })
}

/// Returns the connections' lifetimes, and a series for each kind of finding.
fn series(capture: &Capture, connections: &[&ConnectionReport], from_ns: i64) -> Vec<Series> {
    let ms = |time_ns: i64| milliseconds(time_ns - from_ns);
    let life = |(row, it): (usize, &&ConnectionReport)| {
        let said = format!("from {} to {}", clock(it.first_ns), clock(it.last_ns));
        Point::at(ms(it.first_ns), row as f64)
            .to(ms(it.last_ns))
            .saying(said)
    };
    let lives = connections.iter().enumerate().map(life).collect();
    let mut series = vec![Series::new("connection", Mark::Threads, lives)];
    let sorts = [
        ("stall", Mark::Spans, Tone::Bad),
        ("possible stall", Mark::Outlines, Tone::Bad),
        ("flood", Mark::Spans, Tone::Odd),
    ];
    for (name, mark, tone) in sorts {
        let belongs = |it: &Finding| sort(it) == name;
        let rows = connections.iter().enumerate();
        let points: Vec<_> = rows
            .flat_map(|(row, connection)| {
                let own = capture.report.findings.iter();
                own.filter(|it| it.connection == connection.id && belongs(it))
                    .take(MARKS)
                    .map(move |it| (row, it))
            })
            .map(|(row, it)| {
                let end_ns = it.frames.last().map_or(it.start_ns, |m| m.time_ns);
                Point::at(ms(it.start_ns), row as f64)
                    .to(ms(end_ns))
                    .saying(said(it))
            })
            .collect();
        if !points.is_empty() {
            series.push(Series::new(name, mark, points).toned(tone));
        }
    }
    series
}

fn sort(finding: &Finding) -> &'static str {
    match (finding.kind.is_stall(), finding.tier().accuses()) {
        (false, _) => "flood",
        (true, true) => "stall",
        (true, false) => "possible stall",
    }
}

fn said(finding: &Finding) -> String {
    let frames: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
    format!(
        "{} {}, {}, frames {}",
        clock(finding.start_ns),
        finding.kind.title(),
        finding.cost(),
        frames.join(", ")
    )
}

/// The most connections that are drawn, and the most findings of one kind in each.
const ROWS: usize = 40;
const MARKS: usize = 1_000;
