//! Text for people: the sentence first, then the connections, then the findings.

use std::fmt::Write;
use std::io::Write as _;

use tinygram_diagnose::vocabulary::ms;
use tinygram_diagnose::{Analyzer, ConnectionReport, Finding, Side, recipes};

use super::super::plan::Plan;
use super::super::results::{Capture, Results};
use super::group::{Group, groups, plural, seconds};
use crate::exit::Failure;

pub(super) fn report(plan: &Plan, results: &Results) -> String {
    let groups = groups(results);
    let mut out = String::new();
    verdict(&mut out, results, &groups);
    connections(&mut out, results);
    for group in &groups {
        findings(&mut out, plan, results, group);
    }
    for condition in plan.fail_on.iter().filter(|c| c.holds(results)) {
        let _ = writeln!(out, "\n--fail-on {}: it holds", condition.text());
    }
    out
}

fn verdict(out: &mut String, results: &Results, groups: &[Group<'_>]) {
    let total = results.total();
    for group in groups.iter().take(SENTENCES) {
        let _ = writeln!(out, "{}", group.sentence());
    }
    if groups.len() > SENTENCES {
        let _ = writeln!(
            out,
            "... and {} more habits below",
            groups.len() - SENTENCES
        );
    }
    match (total.frames, total.segments, total.stalls) {
        (0, ..) => *out += "No stalls: the capture holds no frames.\n",
        (frames, 0, _) => {
            let _ = writeln!(
                out,
                "No stalls: none of the {frames} frames holds a TCP segment."
            );
        }
        (_, segments, 0) => {
            let _ = writeln!(
                out,
                "No stalls: {} with {} in {}.",
                plural(total.connections as usize, "connection"),
                plural(segments as usize, "segment"),
                seconds(total.last_ns - total.first_ns)
            );
        }
        _ => {}
    }
    if total.dropped_findings > 0 {
        let _ = writeln!(
            out,
            "{} more findings are counted but not listed (--finding-limit).",
            total.dropped_findings
        );
    }
}

fn connections(out: &mut String, results: &Results) {
    let mut rows: Vec<_> = results
        .captures
        .iter()
        .flat_map(|c| c.report.connections.iter().map(move |r| (c, r)))
        .collect();
    rows.sort_by_key(|(_, r)| (std::cmp::Reverse(r.cost_ns), std::cmp::Reverse(r.frames)));
    let shown = rows
        .iter()
        .take_while(|(_, r)| r.stalls > 0)
        .count()
        .clamp(ROWS, MOST_ROWS);
    let total = results.total().connections as usize;
    if rows.is_empty() {
        return;
    }
    let table: Vec<[String; 9]> = rows.iter().take(shown).map(|(_, r)| row(r)).collect();
    let head = [
        "conn",
        "client -> server",
        "frames",
        "RTT",
        "captured",
        "MSS",
        "ACK timer",
        "stalls",
        "cost",
    ]
    .map(str::to_owned);
    let mut widths = [0; 9];
    for line in std::iter::once(&head).chain(&table) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let _ = writeln!(out);
    for line in std::iter::once(&head).chain(&table) {
        let cells: Vec<_> = line
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(i, (cell, width))| match i {
                1 | 4 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    if total > table.len() {
        let _ = writeln!(out, "... and {} more", total - table.len());
    }
    ruled_out(out, &rows);
}

fn row(r: &ConnectionReport) -> [String; 9] {
    let timer = |d: &tinygram_diagnose::Direction| {
        d.ack_timer_ns
            .map_or("-".to_owned(), |ns| format!("{:.0}", ns as f64 / 1e6))
    };
    // The client's data is acknowledged by the server, and the other way round.
    let [by_server, by_client] = [timer(&r.directions[0]), timer(&r.directions[1])];
    let timers = match (by_client.as_str(), by_server.as_str()) {
        ("-", "-") => "-".to_owned(),
        _ => format!("{by_client}/{by_server} ms"),
    };
    [
        r.id.to_string(),
        format!("{} -> {}", r.client, r.server),
        r.frames.to_string(),
        r.rtt_ns.map_or("-".to_owned(), ms),
        r.capture_point.name().to_owned(),
        r.directions[0].mss.min(r.directions[1].mss).to_string(),
        timers,
        r.stalls.to_string(),
        match r.stalls {
            0 => "-".to_owned(),
            _ => seconds(r.cost_ns),
        },
    ]
}

/// What looked like a stall and is not, over all connections.
fn ruled_out(out: &mut String, rows: &[(&Capture, &ConnectionReport)]) {
    let mut tallies: Vec<(tinygram_diagnose::Lookalike, u32, i64, usize)> = Vec::new();
    for (_, r) in rows {
        for (kind, tally) in r.ruled_out.iter() {
            match tallies.iter_mut().find(|t| t.0 == kind) {
                Some(t) => {
                    t.1 += tally.count;
                    t.2 += tally.time_ns;
                    t.3 += 1;
                }
                None => tallies.push((kind, tally.count, tally.time_ns, 1)),
            }
        }
    }
    if tallies.is_empty() {
        return;
    }
    tallies.sort_by_key(|t| t.0);
    let _ = writeln!(out, "\nNot accused:");
    for (kind, count, time_ns, connections) in tallies {
        let _ = writeln!(
            out,
            "  {} x{count} in {}, {}: {}",
            kind.name(),
            plural(connections, "connection"),
            seconds(time_ns),
            kind.reason()
        );
    }
}

fn findings(out: &mut String, plan: &Plan, results: &Results, group: &Group<'_>) {
    let c = group.connections[0];
    let sender = group.findings[0].sender;
    let _ = write!(
        out,
        "\n{} by the {sender} {}: {}",
        capital(group.kind.title()),
        c.end(sender).address(),
        plural(group.findings.len(), "finding")
    );
    if group.kind.is_stall() {
        let _ = write!(out, ", {}", seconds(group.cost_ns));
    }
    if results.captures.len() > 1 {
        let _ = write!(out, ", in {}", group.capture.name);
    }
    let _ = writeln!(out);
    let limit = if plan.verbose { usize::MAX } else { LISTED };
    for finding in group.findings.iter().take(limit) {
        let _ = writeln!(out, "  {}", line(group.capture, finding));
    }
    if group.findings.len() > limit {
        let _ = writeln!(
            out,
            "  ... and {} more (--verbose)",
            group.findings.len() - limit
        );
    }
    let typical = group.typical();
    let _ = writeln!(out, "  Why, by {}:", frames(typical));
    for reason in typical.evidence() {
        let _ = writeln!(out, "    - {reason}");
    }
    let _ = writeln!(out, "  Change: {}", typical.advice());
    for recipe in recipes::for_end(c.end(Side::Server).port, typical.blame).take(2) {
        let _ = writeln!(
            out,
            "    {} ({}): {}",
            recipe.place,
            recipe.cure.name(),
            recipe.text
        );
    }
    let _ = writeln!(out, "  Wireshark: {}", group.filter(limit.min(FILTERED)));
}

fn line(capture: &Capture, finding: &Finding) -> String {
    let since = finding.start_ns - capture.report.summary.first_ns;
    let cost = match finding.kind.is_stall() {
        true => format!("  {:>8}", ms(finding.cost_ns)),
        false => String::new(),
    };
    format!(
        "{:>12.6} s{cost}  conn {}  {} -> {}  {}  {}",
        since as f64 / 1e9,
        finding.connection,
        finding.sender,
        finding.sender.other(),
        frames(finding),
        finding.tier
    )
}

fn frames(finding: &Finding) -> String {
    let numbers: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
    format!("frames {}", numbers.join(", "))
}

/// One line per new finding while a live capture runs.
pub(in super::super) fn tell(analyzer: &Analyzer, told: usize) -> Result<(), Failure> {
    let failure = |error| Failure::Io {
        doing: "writing to standard output".into(),
        error,
    };
    let mut out = std::io::stdout().lock();
    for finding in &analyzer.findings()[told..] {
        let ends = analyzer
            .connection(finding.connection)
            .map(|c| format!("{} -> {}", c.client, c.server))
            .unwrap_or_default();
        writeln!(
            out,
            "{} {ends}: {}, the {} {} ({})",
            finding.kind.name(),
            ms(finding.cost_ns),
            finding.sender,
            finding.habit(),
            frames(finding)
        )
        .map_err(failure)?;
    }
    out.flush().map_err(failure)
}

/// `--recipes`
pub(in super::super) fn recipes() -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Where many small writes follow each other, write once: TCP_NODELAY turns them into as many packets.\n"
    );
    for recipe in recipes::TABLE {
        let _ = writeln!(
            out,
            "{:<18} {:<12} {}",
            recipe.place,
            recipe.cure.name(),
            recipe.text
        );
    }
    out
}

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// Sentences at the top, connections in the table, findings and frames per group.
const SENTENCES: usize = 5;
const ROWS: usize = 5;
const MOST_ROWS: usize = 20;
const LISTED: usize = 5;
const FILTERED: usize = 20;
