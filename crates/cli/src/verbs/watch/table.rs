//! The summary as text: a table, and what helps.

use tinygram_diagnose::{Advice, Side};
use tinygram_stalls::ms;
use tinygram_watch::finding::Part;
use tinygram_watch::summary::{Key, Row, Summary};

use super::sentence;

/// Returns the costliest rows, at most `most`, followed by the advice for each kind.
pub(super) fn text(summary: &Summary, most: usize) -> String {
    let rows = summary.rows();
    if rows.is_empty() {
        return String::new();
    }
    let cells: Vec<[String; COLUMNS]> = rows
        .iter()
        .take(most)
        .map(|(key, row)| cells(key, row))
        .collect();
    let mut widths = HEADINGS.map(str::len);
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = line(&HEADINGS.map(str::to_owned), &widths);
    for row in &cells {
        out += &line(row, &widths);
    }
    if rows.len() > most {
        out += &format!("and {} more\n", rows.len() - most);
    }
    out + &advice(&rows[..rows.len().min(most)])
}

/// Returns the advice for each case once, for both ends.
fn advice(rows: &[(&Key, &Row)]) -> String {
    let mut out = String::new();
    let mut said = Vec::new();
    for (key, row) in rows {
        let place = format!("{} on port {}", key.process.name, key.port);
        if said.contains(&(key.kind, place.clone(), row.case.sender)) {
            continue;
        }
        said.push((key.kind, place.clone(), row.case.sender));
        out += &format!("\n{} ({place}):\n", key.kind.title());
        for (call, count) in row.calls().into_iter().take(MOST_CALLS) {
            out += &format!("  written by {call}, {count} of those looked at\n");
        }
        let advice = Advice::of(&row.case);
        for side in [row.case.sender, row.case.sender.other()] {
            for step in advice.by(side) {
                let here = if side == key.side {
                    "this host, the"
                } else {
                    "the other end, the"
                };
                out += &format!("  {here} {side}: {}\n", step.text);
            }
        }
        if let Some(caution) = advice.caution {
            out += &format!("  {caution}.\n");
        }
    }
    out
}

/// The most call sites that are listed for each row.
const MOST_CALLS: usize = 3;
const COLUMNS: usize = 11;
const HEADINGS: [&str; COLUMNS] = [
    "PROCESS", "USER", "WHERE", "PEER", "PORT", "WHAT", "COUNT", "BYTES", "MEDIAN", "P99", "TOTAL",
];
/// Words are aligned left, numbers right.
const LEFT: [bool; COLUMNS] = [
    true, true, true, true, true, true, false, false, false, false, false,
];

fn cells(key: &Key, row: &Row) -> [String; COLUMNS] {
    let place = key
        .process
        .container
        .as_ref()
        .map_or_else(|| "-".to_owned(), ToString::to_string);
    let port = match key.side {
        Side::Server => format!(":{}", key.port),
        Side::Client => format!("to :{}", key.port),
    };
    let what = match key.part {
        Part::Sent => key.kind.name().to_owned(),
        Part::AcknowledgedLate => format!("{}, late ACK here", key.kind.name()),
    };
    let (held, behind) = row.octets();
    let (bytes, median, p99, total) = match key.kind.is_stall() {
        true => (
            format!("{held} behind {behind}"),
            ms(row.cost_at(0.5)),
            ms(row.cost_at(0.99)),
            ms(row.cost.time_ns),
        ),
        false => (
            format!(
                "{:.0} a segment",
                row.flood.bytes as f64 / row.flood.segments.max(1) as f64
            ),
            "-".to_owned(),
            "-".to_owned(),
            format!("{} segments", row.cost.segments),
        ),
    };
    [
        sentence::name(&key.process),
        key.process.user.clone(),
        place,
        key.peer.to_string(),
        port,
        what,
        row.count.to_string(),
        bytes,
        median,
        p99,
        total,
    ]
}

fn line(cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let mut out = String::new();
    for ((cell, width), left) in cells.iter().zip(widths).zip(LEFT) {
        out += &match left {
            true => format!("{cell:<width$}  "),
            false => format!("{cell:>width$}  "),
        };
    }
    format!("{}\n", out.trim_end())
}
