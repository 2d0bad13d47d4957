//! The summary as text: a table, and what helps.

use tinygram_report::{AnsiColor, Columns, Ink, Style};
use tinygram_stalls::ms;
use tinygram_stalls::{Advice, Side};
use tinygram_watch::finding::Part;
use tinygram_watch::summary::{Key, Row, WatchSummary};

use super::sentence;
use crate::glossary::Glosses;

/// Returns all rows in lines of at most `width`, the costliest first, followed by the advice for each kind.
pub(super) fn text(summary: &WatchSummary, width: usize) -> String {
    let rows = summary.rows();
    if rows.is_empty() {
        return String::new();
    }
    let cells: Vec<_> = rows.iter().map(|(key, row)| cells(key, row)).collect();
    let mut out = COLUMNS.lines(&cells, width).join("\n") + "\n";
    let glosses = Glosses::default().new_in(&out);
    if !glosses.is_empty() {
        out += &format!("\n{}\n", glosses.join("\n"));
    }
    out + &advice(&rows)
}

/// Returns the costliest rows, at most `most` lines of at most `width` with the headings.
pub(super) fn screen(summary: &WatchSummary, width: usize, most: usize, ink: Ink) -> Vec<String> {
    let rows = summary.rows();
    let shown = match rows.len() < most {
        true => rows.len(),
        // One line says how many are left.
        false => most.saturating_sub(2),
    };
    let cells: Vec<_> = rows[..shown]
        .iter()
        .map(|(key, row)| cells(key, row))
        .collect();
    let mut lines = COLUMNS.fitted(&cells, width, &LEAST, (ink, COST));
    if rows.len() > shown {
        lines.push(format!("and {} more", rows.len() - shown));
    }
    lines
}

/// Returns the advice for the costliest row.
pub(super) fn first_advice(summary: &WatchSummary) -> String {
    let rows = summary.rows();
    advice(&rows[..rows.len().min(1)])
}

/// Returns the advice for each case once, for both ends.
fn advice(rows: &[(&Key, &Row)]) -> String {
    let mut out = String::new();
    let mut said = Vec::new();
    for (key, row) in rows {
        let place = format!("{} on port {}", program(key, row), key.port);
        if said.contains(&(key.kind, place.clone(), row.case.sender)) {
            continue;
        }
        said.push((key.kind, place.clone(), row.case.sender));
        out += &format!("\n{} ({place}):\n", key.kind.title());
        for (written, count, help) in calls(row).into_iter().take(MOST_CALLS) {
            out += &format!("  {written}, {count} of those looked at\n");
            if let Some(help) = help {
                out += &format!("    to name the line: {help}\n");
            }
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
        if let Some(command) = cure(key, row) {
            out += &format!("  on the running program, without a restart: `{command}`\n");
        }
    }
    out
}

/// Returns the call sites in words with their counts, and what would help to name them. Sites of other stacks that are
/// written alike are one.
fn calls(row: &Row) -> Vec<(String, u64, Option<&'static str>)> {
    let mut calls: Vec<(String, u64, Option<&'static str>)> = Vec::new();
    for (call, count) in row.calls() {
        let written = call.written();
        match calls.iter_mut().find(|(known, _, _)| *known == written) {
            Some((_, known, _)) => *known += count,
            None => calls.push((written, count, call.unresolved.as_ref().map(|it| it.help))),
        }
    }
    calls.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    calls
}

/// Returns the command that says which settings of live sockets would end a stall.
pub(super) fn cure(key: &Key, row: &Row) -> Option<String> {
    let target = match (row.processes, key.process.pid) {
        (1, 1..) => key.process.pid,
        // They have ended, and others may serve the port; or the process is unknown.
        _ => key.port.into(),
    };
    key.kind
        .is_stall()
        .then(|| format!("tinygram cure --dry-run {target}"))
}

/// The most call sites that are listed for each row.
const MOST_CALLS: usize = 3;
const COLUMNS: Columns<11> = Columns {
    headings: [
        "PROCESS", "USER", "WHERE", "PEER", "PORT", "WHAT", "COUNT", "BYTES", "MEDIAN", "P99",
        "TOTAL",
    ],
    left: [
        true, true, true, true, true, true, false, false, false, false, false,
    ],
};
/// What a narrow screen leaves out, first what matters least: user, place, 99th percentile, peer, bytes, median.
const LEAST: [usize; 6] = [1, 2, 9, 3, 7, 8];
/// The style of what a row costs, which stands last.
const COST: Style = AnsiColor::Yellow.on_default();

/// Returns the program's name. Of several processes it is known, although no process is.
fn program<'a>(key: &'a Key, row: &Row) -> &'a str {
    match row.processes {
        1 => sentence::program(&key.process),
        _ => &key.process.name,
    }
}

/// Returns the process's name; of several that have ended, how many there were.
fn name(key: &Key, row: &Row) -> String {
    let script = key.process.script.as_ref();
    match row.processes {
        1 => sentence::name(&key.process),
        several => format!(
            "{}[{several} processes]{}",
            key.process.name,
            script.map_or_else(String::new, |script| format!(" {script}"))
        ),
    }
}

fn cells(key: &Key, row: &Row) -> [String; 11] {
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
        Part::Sent if row.flood.unseen > sentence::FEW => format!("{}, sampled", key.kind.name()),
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
        name(key, row),
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

#[cfg(test)]
mod tests {
    use tinygram_stalls::{Cost, Kind};
    use tinygram_watch::finding::{Facts, Finding};

    use super::super::made::stall;
    use super::*;

    /// Returns the table of a flood before whose first look `unseen` segments were sent.
    fn table_of(unseen: u64) -> String {
        let (stall, process) = stall(7);
        let finding = Finding {
            kind: Kind::TinygramFlood,
            cost: Cost::segments(900),
            facts: Facts::Flood {
                segments: 1000,
                writes: Some(1000),
                turns: 0,
                bytes: 8000,
                lasted_ns: 1_000_000_000,
                unseen,
            },
            ..stall
        };
        let mut summary = WatchSummary::default();
        summary.add(&finding, &process);
        text(&summary, 200)
    }

    #[test]
    fn a_flood_that_was_found_by_samples_is_marked() {
        let sampled = table_of(5_000);
        assert!(sampled.contains("tinygram-flood, sampled"), "{sampled}");
        assert!(sampled.contains("\nsampled: found by looking"), "{sampled}");
        let whole = table_of(sentence::FEW);
        assert!(!whole.contains("sampled"), "{whole}");
    }
}
