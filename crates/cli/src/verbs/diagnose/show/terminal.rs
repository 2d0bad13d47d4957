//! Text for people: the sentence first, then the connections, then the findings.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Write as _;

use tinygram_diagnose::{Analyzer, ConnectionReport, Finding, Kind, Lookalike, Side};
use tinygram_diagnosis::totals::{self, Total};
use tinygram_diagnosis::{
    Capture, Diagnosis, Group, Perhaps, asides, audit, groups, outcome, perhaps, rtt, seconds,
};
use tinygram_report::Columns;
use tinygram_report::units::counted;
use tinygram_stalls::{Tier, ms};

use super::super::done::Results;
use super::super::plan::Plan;
use crate::outcome::Failure;

/// Returns the report. Its tables go on in a further line where they are wider than `width`.
pub(super) fn report(plan: &Plan, results: &Results, width: usize) -> String {
    let diagnosis = &results.diagnosis;
    let groups = groups(diagnosis);
    let mut out = String::new();
    verdict(&mut out, plan, diagnosis, &groups);
    overall(&mut out, diagnosis, width);
    connections(&mut out, plan, diagnosis, width);
    for group in &groups {
        findings(&mut out, plan, diagnosis, group);
    }
    possible(&mut out, plan, diagnosis);
    for condition in plan.fail_on.iter().filter(|it| results.meets(it)) {
        let _ = writeln!(out, "\n--fail-on {}: it holds", condition.text());
    }
    out
}

fn verdict(out: &mut String, plan: &Plan, results: &Diagnosis, groups: &[Group<'_>]) {
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
    for Perhaps { end, program } in perhaps(results) {
        let _ = writeln!(out, "{end} is perhaps {}: {}", program.name, program.page());
    }
    *out += &outcome(results, plan.verbose);
    if total.dropped_findings > 0 {
        let _ = writeln!(
            out,
            "{} more findings are counted but not listed (--finding-limit).",
            total.dropped_findings
        );
    }
    for sentence in asides(results) {
        let _ = writeln!(out, "{sentence}");
    }
}

/// Writes who lost most, and where to change something, if there are too many connections to look
/// at each.
fn overall(out: &mut String, results: &Diagnosis, width: usize) {
    if (results.total().connections as usize) < MANY {
        return;
    }
    let tables = [
        ("server and port", totals::by_service(results)),
        ("to be changed at", totals::by_host(results)),
    ];
    for (who, rows) in tables {
        if rows.is_empty() {
            continue;
        }
        let cells: Vec<_> = rows.iter().take(ROWS).map(total).collect();
        let _ = writeln!(out);
        for line in totals_of(who).lines(&cells, width) {
            let _ = writeln!(out, "{line}");
        }
        if rows.len() > ROWS {
            let _ = writeln!(out, "  ... and {} more", rows.len() - ROWS);
        }
    }
}

/// Returns the columns of a table of totals; `who` says of whom.
fn totals_of(who: &'static str) -> Columns<5> {
    Columns {
        headings: [who, "connections", "stalls", "cost", "floods"],
        left: [true, false, false, false, false],
    }
}

fn total(of: &Total) -> [String; 5] {
    [
        of.who.clone(),
        of.connections.to_string(),
        of.stalls.to_string(),
        cost(of.stalls, of.cost_ns),
        of.floods.to_string(),
    ]
}

/// Returns what stalls cost, if there are any.
fn cost(stalls: usize, ns: i64) -> String {
    match stalls {
        0 => "-".to_owned(),
        _ => seconds(ns),
    }
}

fn connections(out: &mut String, plan: &Plan, results: &Diagnosis, width: usize) {
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
    let _ = writeln!(out);
    for line in CONNECTIONS.lines(&table, width) {
        let _ = writeln!(out, "{line}");
    }
    legend(out, &table);
    if total > table.len() {
        let _ = writeln!(out, "... and {} more", total - table.len());
    }
    ruled_out(out, plan, &rows);
}

/// Says what the columns mean that do not say it themselves, where they hold something.
fn legend(out: &mut String, table: &[[String; 9]]) {
    let [mut is_bound, mut has_timer] = [false; 2];
    for row in table {
        is_bound |= row[3].starts_with("<=");
        has_timer |= row[6] != "-";
    }
    let bound = is_bound.then_some("RTT <=: no handshake was seen, and no ACK came sooner");
    let timer =
        has_timer.then_some("ACK timer: how long the client/the server put ACKs off, on average");
    let said: Vec<_> = bound.into_iter().chain(timer).collect();
    if !said.is_empty() {
        let _ = writeln!(out, "({})", said.join("; "));
    }
}

const CONNECTIONS: Columns<9> = Columns {
    headings: [
        "conn",
        "client -> server",
        "frames",
        "RTT",
        "captured",
        "MSS",
        "ACK timer",
        "stalls",
        "cost",
    ],
    left: [false, true, false, false, true, false, false, false, false],
};

fn row(r: &ConnectionReport) -> [String; 9] {
    let timer = |d: &tinygram_diagnose::Direction| {
        d.ack_timer_ns
            .map_or("-".to_owned(), |ns| format!("{:.0}", ns as f64 / 1e6))
    };
    // The server acknowledges the client's data, and the other way round.
    let [by_server, by_client] = [timer(&r.directions[0]), timer(&r.directions[1])];
    let timers = match (by_client.as_str(), by_server.as_str()) {
        ("-", "-") => "-".to_owned(),
        _ => format!("{by_client}/{by_server} ms"),
    };
    [
        r.id.to_string(),
        format!("{} -> {}", r.client, r.server),
        r.frames.to_string(),
        rtt(r),
        r.capture_point.name().to_owned(),
        r.directions[0].mss.min(r.directions[1].mss).to_string(),
        timers,
        r.stalls.to_string(),
        cost(r.stalls as usize, r.cost_ns),
    ]
}

/// Writes what looked like a stall and is not, over all connections.
fn ruled_out(out: &mut String, plan: &Plan, rows: &[(&Capture, &ConnectionReport)]) {
    let mut kinds: BTreeMap<(Lookalike, &str), Innocent> = BTreeMap::new();
    for (_, r) in rows {
        let with_reason = |kind: Lookalike| (kind, kind.reason_if(r.rtt_measured));
        for (kind, tally) in r.ruled_out.iter() {
            let innocent = kinds.entry(with_reason(kind)).or_default();
            innocent.count += tally.count;
            innocent.time_ns += tally.time_ns;
            innocent.connections += 1;
            innocent.frames.push(tally.first_frame);
        }
        for event in r.ruled_out.events() {
            kinds
                .entry(with_reason(event.kind))
                .or_default()
                .frames
                .push(event.frame);
        }
    }
    if kinds.is_empty() {
        return;
    }
    let limit = if plan.verbose { usize::MAX } else { LISTED };
    let _ = writeln!(out, "\nNot accused:");
    for ((kind, reason), mut innocent) in kinds {
        innocent.frames.sort_unstable();
        innocent.frames.dedup();
        let listed: Vec<_> = innocent
            .frames
            .iter()
            .take(limit)
            .map(u64::to_string)
            .collect();
        let more = innocent.count as usize > listed.len();
        let _ = writeln!(
            out,
            "  {} x{} in {}, {}, {} {}{}: {}",
            kind.name(),
            innocent.count,
            counted(innocent.connections as u64, "connection"),
            seconds(innocent.time_ns),
            if listed.len() == 1 { "frame" } else { "frames" },
            listed.join(", "),
            if more { ", ..." } else { "" },
            reason
        );
    }
}

/// The lookalikes of one kind and reason.
#[derive(Default)]
struct Innocent {
    count: u32,
    time_ns: i64,
    connections: usize,
    frames: Vec<u64>,
}

fn findings(out: &mut String, plan: &Plan, results: &Diagnosis, group: &Group<'_>) {
    let c = group.connections[0];
    let sender = group.findings[0].sender;
    let _ = write!(
        out,
        "\n{} by the {sender} {}: {}",
        capital(group.kind.title()),
        c.end(sender).address(),
        counted(group.findings.len() as u64, "finding")
    );
    if group.kind.is_stall() {
        let _ = write!(out, ", {}", seconds(group.cost_ns));
    }
    if results.captures.len() > 1 {
        let _ = write!(out, ", in {}", group.capture.name);
    }
    let _ = writeln!(out);
    let limit = if plan.verbose { usize::MAX } else { LISTED };
    let shown = group.findings.iter().take(limit);
    let rows: Vec<_> = shown.map(|it| finding_row(group.capture, it)).collect();
    for line in FINDINGS.lines(&rows, usize::MAX) {
        let _ = writeln!(out, "  {line}");
    }
    if group.findings.len() > limit {
        let _ = writeln!(
            out,
            "  ... and {} more (--verbose)",
            group.findings.len() - limit
        );
    }
    let likely = group.findings.iter().find(|it| it.tier() == Tier::Likely);
    if let Some(bound) = likely.and_then(|it| it.bounded_by()) {
        let _ = writeln!(out, "  (likely, not certain: {})", bound.check.failed);
    }
    let typical = group.typical();
    let _ = writeln!(out, "  Why, by {}:", frames(typical));
    for reason in typical.evidence() {
        let _ = writeln!(out, "    - {reason}");
    }
    let _ = writeln!(out, "    - {}", typical.mechanism());
    if plan.verbose {
        audit::write(out, typical);
    }
    let advice = typical.advice();
    let _ = writeln!(out, "  Change one of these, what costs least first:");
    for step in &advice.steps {
        let _ = writeln!(out, "    - {}: {}", step.side, step.text);
    }
    if let Some(caution) = advice.caution {
        let _ = writeln!(out, "    {caution}.");
    }
    let port = c.end(Side::Server).port;
    for recipe in typical.recipes(port).take(2) {
        let _ = writeln!(
            out,
            "    {} ({}): {}",
            recipe.place,
            recipe.cure.name(),
            recipe.text
        );
    }
    let _ = writeln!(out, "  Wireshark: {}", group.filter());
    if let Some(note) = group.filter_note() {
        let _ = writeln!(out, "    ({note})");
    }
}

/// Writes the possible findings, which accuse nobody, with their frames.
fn possible(out: &mut String, plan: &Plan, results: &Diagnosis) {
    let all = results.findings().filter(|(_, f)| !f.tier().accuses());
    let found: Vec<_> = all.collect();
    if found.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nPossible, and not counted:");
    let limit = if plan.verbose { usize::MAX } else { LISTED };
    let shown = &found[..found.len().min(limit)];
    let rows: Vec<_> = shown.iter().map(|it| possible_row(it.0, it.1)).collect();
    let lines = POSSIBLE.lines(&rows, usize::MAX);
    let _ = writeln!(out, "  {}", lines[0]);
    for (line, (_, finding)) in lines[1..].iter().zip(shown) {
        let _ = writeln!(out, "  {line}");
        if plan.verbose {
            audit::write(out, finding);
        }
    }
    let more = found.len() - shown.len();
    if more > 0 {
        let _ = writeln!(out, "  ... and {more} more (--verbose)");
    }
}

const FINDINGS: Columns<6> = Columns {
    headings: ["at", "cost", "conn", "from -> to", "frames", "tier"],
    left: [false, false, false, true, true, true],
};

const POSSIBLE: Columns<7> = Columns {
    headings: ["at", "cost", "conn", "from -> to", "frames", "tier", "what"],
    left: [false, false, false, true, true, true, true],
};

fn finding_row(capture: &Capture, finding: &Finding) -> [String; 6] {
    let since = finding.start_ns - capture.report.summary.first_frame_ns;
    [
        format!("{:.6} s", since as f64 / 1e9),
        match finding.kind.is_stall() {
            true => ms(finding.cost_ns),
            false => "-".to_owned(),
        },
        finding.connection.to_string(),
        format!("{} -> {}", finding.sender, finding.sender.other()),
        numbers(finding),
        finding.tier().to_string(),
    ]
}

fn possible_row(capture: &Capture, finding: &Finding) -> [String; 7] {
    let [at, cost, connection, ends, frames, tier] = finding_row(capture, finding);
    let (kind, sender, habit) = (finding.kind, finding.sender, finding.habit());
    let what = format!("{kind}; the {sender} {habit}");
    [at, cost, connection, ends, frames, tier, what]
}

fn frames(finding: &Finding) -> String {
    format!("frames {}", numbers(finding))
}

/// Returns the numbers of a finding's frames; of a flood, the first and the last one.
fn numbers(finding: &Finding) -> String {
    if let ([first, .., last], false) = (&finding.frames[..], finding.kind.is_stall()) {
        return format!("{} to {}", first.frame, last.frame);
    }
    let numbers: Vec<_> = finding.frames.iter().map(|m| m.frame.to_string()).collect();
    numbers.join(", ")
}

/// What has been printed for a live capture: each kind's first finding in full, then a running
/// total.
#[derive(Default)]
pub(in super::super) struct Told {
    findings: usize,
    kinds: Vec<(Kind, Side, u32)>,
    stalls: u64,
    second: i64,
}

impl Told {
    /// Prints what is new since the last call.
    pub(in super::super) fn tell(&mut self, analyzer: &Analyzer) -> Result<(), Failure> {
        let (all, total) = (analyzer.findings(), &analyzer.summary());
        // What no clock has told is not said, unless there is a clock later.
        if !total.has_clock() {
            return Ok(());
        }
        let mut said = String::new();
        for finding in all
            .iter()
            .skip(self.findings)
            .filter(|f| f.tier().accuses())
        {
            let habit = (finding.kind, finding.sender, finding.connection);
            if self.kinds.len() < HABITS && !self.kinds.contains(&habit) {
                self.kinds.push(habit);
                said += &first_of_its_kind(analyzer, finding);
            }
        }
        self.findings = all.len();
        let second = total.last_ns / 1_000_000_000;
        if said.is_empty() && total.stalls > self.stalls && second >= self.second + PAUSE_S {
            said = format!(
                "so far: {} cost {}\n",
                counted(total.stalls, "stall"),
                seconds(total.cost_ns)
            );
        }
        if said.is_empty() {
            return Ok(());
        }
        (self.stalls, self.second) = (total.stalls, second);
        let mut out = std::io::stdout().lock();
        out.write_all(said.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|error| Failure::Io {
                doing: "writing to standard output".into(),
                error,
            })
    }
}

fn first_of_its_kind(analyzer: &Analyzer, finding: &Finding) -> String {
    let ends = analyzer
        .connection(finding.connection)
        .map(|c| format!("{} -> {}", c.client, c.server))
        .unwrap_or_default();
    format!(
        "{} {ends}: {}, the {} {} ({})\n",
        finding.kind.name(),
        finding.cost(),
        finding.sender,
        finding.habit(),
        frames(finding)
    )
}

fn capital(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// The most sentences at the top, connections in the table, findings and frames per group.
const SENTENCES: usize = 5;
const ROWS: usize = 5;
const MOST_ROWS: usize = 20;
/// The number of connections from which on totals come first.
const MANY: usize = 20;
const LISTED: usize = 5;
/// The most habits of a live capture that are printed in full, and the seconds between totals.
const HABITS: usize = 20;
const PAUSE_S: i64 = 5;
