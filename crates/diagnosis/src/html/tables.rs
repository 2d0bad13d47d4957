//! The page's tables of all connections.

use std::collections::BTreeSet;

use tinygram_diagnose::{ConnectionReport, Lookalike};
use tinygram_report::{Column, Entry, Section, Table, Tone};

use super::left_out;
use crate::group::{rtt, seconds};
use crate::results::Diagnosis;
use crate::totals::{self, Total};

/// Returns totals by program and by host, if there are more than a few connections.
pub(super) fn totals(results: &Diagnosis) -> impl Iterator<Item = Table> {
    let are_many = results.total().connections as usize >= MANY;
    let tables = [
        ("By server and port", totals::by_service(results)),
        ("To be changed at", totals::by_host(results)),
    ];
    (tables.into_iter())
        .filter(move |(_, rows)| are_many && !rows.is_empty())
        .map(|(title, rows)| total_table(title, &rows))
}

fn total_table(title: &str, totals: &[Total]) -> Table {
    let row = |it: &Total| {
        let entries = [
            it.who.clone(),
            it.connections.to_string(),
            it.stalls.to_string(),
            seconds(it.cost_ns),
            it.floods.to_string(),
        ];
        entries.map(Entry::new).into()
    };
    let [connections, stalls, cost, floods] =
        ["connections", "stalls", "cost", "floods"].map(Column::numbers);
    Table {
        title: title.into(),
        columns: vec![Column::words(""), connections, stalls, cost, floods],
        rows: totals.iter().take(ROWS).map(row).collect(),
        notes: left_out(totals.len(), ROWS, "row"),
    }
}

/// Returns the connections, costliest first, and why what looked like a stall in them is not one.
pub(super) fn connections(results: &Diagnosis) -> Vec<Section> {
    let mut reports: Vec<_> = (results.captures.iter())
        .flat_map(|capture| {
            let connections = &capture.report.connections;
            connections.iter().map(move |it| (&*capture.name, it))
        })
        .collect();
    reports.sort_by_key(|(_, it)| (std::cmp::Reverse(it.cost_ns), std::cmp::Reverse(it.frames)));
    let are_many = results.captures.len() > 1;
    let named = are_many.then(|| Column::words("capture"));
    let columns = named.into_iter().chain([
        Column::numbers("no."),
        Column::words("client \u{2192} server"),
        Column::numbers("frames"),
        Column::numbers("RTT"),
        Column::words("captured"),
        Column::numbers("stalls"),
        Column::numbers("cost"),
        Column::words("looked like a stall and is not"),
    ]);
    let table = Table {
        title: "Connections".into(),
        columns: columns.collect(),
        rows: (reports.iter().take(ROWS))
            .map(|(name, it)| {
                let named = are_many.then(|| Entry::new(*name));
                named.into_iter().chain(row(it)).collect()
            })
            .collect(),
        notes: left_out(reports.len(), ROWS, "connection"),
    };
    let mut sections = vec![Section::Table(table)];
    let reports: Vec<_> = reports.into_iter().map(|(_, it)| it).collect();
    sections.extend(why_not(&reports));
    sections
}

fn row(it: &ConnectionReport) -> Vec<Entry> {
    let ruled_out: Vec<_> = (it.ruled_out.iter())
        .map(|(kind, tally)| {
            let frames = first_frames(it, kind);
            format!("{} \u{d7}{} ({frames})", kind.name(), tally.count)
        })
        .collect();
    let has_stalls = it.stalls > 0;
    let mut row: Vec<_> = [
        it.id.to_string(),
        format!("{} \u{2192} {}", it.client, it.server),
        it.frames.to_string(),
        rtt(it),
        it.capture_point.name().to_owned(),
        it.stalls.to_string(),
        if has_stalls {
            seconds(it.cost_ns)
        } else {
            "-".to_owned()
        },
        ruled_out.join(", "),
    ]
    .map(Entry::new)
    .into();
    if has_stalls {
        row[5].tone = Tone::Bad;
    }
    row
}

/// Returns the frames of the first few lookalikes of a kind.
fn first_frames(it: &ConnectionReport, kind: Lookalike) -> String {
    let events = it.ruled_out.events().iter();
    let of_kind = events.filter(|event| event.kind == kind);
    let frames: Vec<_> = of_kind
        .take(FEW)
        .map(|event| event.frame.to_string())
        .collect();
    match frames.as_slice() {
        [] => format!("from frame {}", it.ruled_out.of(kind).first_frame),
        [one] => format!("frame {one}"),
        several => format!("frames {}", several.join(", ")),
    }
}

/// Returns for each kind of lookalike why it was ruled out, each reason once.
fn why_not(reports: &[&ConnectionReport]) -> Option<Section> {
    let reasons = |it: &&ConnectionReport| {
        let rtt_measured = it.rtt_measured;
        let kinds: Vec<_> = it.ruled_out.iter().map(|(kind, _)| kind).collect();
        (kinds.into_iter()).map(move |kind| (kind, kind.reason_if(rtt_measured)))
    };
    let reasons: BTreeSet<_> = reports.iter().flat_map(reasons).collect();
    let facts: Vec<_> = (reasons.into_iter())
        .map(|(kind, reason)| (kind.name().to_owned(), reason.to_owned()))
        .collect();
    (!facts.is_empty()).then(|| Section::Facts {
        summary: "Why these are no stalls".into(),
        facts,
    })
}

/// The most rows of a table.
const ROWS: usize = 100;
/// The number of connections from which on totals come first.
const MANY: usize = 20;
/// The most frames of one kind that are listed with a connection.
const FEW: usize = 5;
