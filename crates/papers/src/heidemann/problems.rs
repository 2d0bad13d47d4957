//! The short-initial-segment and the odd/short-final-segment problem, each with its fix alone and
//! with both fixes (sections 2.2 and 2.3), on the page of Table 1.

use super::hosts::{self, Fixes, Over};
use super::published::STALL_MS;
use super::table_1::{self, Measured};
use super::transaction::{Problem, Stall};
use crate::experiment::{Class, Effort, Layout, Outcome, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// Runs the experiment of section 2.2.
pub(super) fn short_initial_segment(effort: &Effort) -> Outcome {
    let mut outcome = Outcome {
        rows: rows(Problem::ShortInitialSegment, effort),
        notes: vec![
            "After the short initial segment, the window of 2 MSS has room for one full segment \
             and a piece. The piece is not sent, and the client has less than 2 MSS to \
             acknowledge. Once an ACK has opened the window to 3 MSS, the next document's short \
             segment causes no such stall: only the first document of a connection stalls."
                .into(),
            "Disabling Nagle's algorithm alone does not remove this stall: the congestion window \
             holds the data, not Nagle's algorithm."
                .into(),
        ],
        ..matrix()
    };
    outcome.rows.extend(lengths(
        Problem::ShortInitialSegment,
        Fixes::NONE,
        Class::Predicted,
        effort,
    ));
    outcome
}

/// Runs the experiment of section 2.3.
pub(super) fn short_final_segment(effort: &Effort) -> Outcome {
    let mut outcome = Outcome {
        rows: rows(Problem::ShortFinalSegment, effort),
        notes: vec![
            "Which documents end in an odd segment and a short one depends on where the writes \
             begin. If the headers are written apart, these are documents 1 and 3; if the headers \
             are in the data, it is document 2 (4096 octets and 13). In both cases it is Nagle's \
             algorithm that holds the short segment."
                .into(),
            "Not all of these stalls have the paper's \"odd number of full segments\": it is \
             enough that less than 2 MSS is unacknowledged when the short segment could leave."
                .into(),
        ],
        ..matrix()
    };
    outcome.rows.extend(lengths(
        Problem::ShortFinalSegment,
        Fixes::FIRST,
        Class::KnownMismatch(
            "Figure 4 itself shows 167 ms between these segments, and Table 1 leaves 195 - 26 = \
             169 ms for the stall",
        ),
        effort,
    ));
    outcome
}

fn matrix() -> Outcome {
    Outcome {
        rules: hosts::RULES.to_vec(),
        parameters: hosts::parameters(),
        layout: Layout::Grid {
            down: &["fixes"],
            across: &["measure"],
        },
        ..Outcome::default()
    }
}

/// The names of the rows: stalls of each document in a transaction.
const DOCUMENTS: [&str; 3] = [
    "stalls of document 1",
    "stalls of document 2",
    "stalls of document 3",
];

/// Returns the stalls of this kind per transaction, by document, for the server without fixes, with
/// each fix and with both.
fn rows(problem: Problem, effort: &Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    for fixes in Fixes::ALL {
        let measured = table_1::measure(Over::PHttp, fixes, effort.seed);
        for (document, name) in DOCUMENTS.into_iter().enumerate() {
            let count = of(&measured, problem)
                .filter(|stall| stall.document == document)
                .count();
            let published = published(problem, fixes, document);
            rows.push(Row {
                cell: vec![
                    ("fixes", PaperValue::Text(fixes.name().into())),
                    ("measure", PaperValue::Text(name.into())),
                ],
                standard: published.map(|stalls| Standard::derived(PaperValue::Number(stalls, 0))),
                reproduced: PaperValue::Number(count as f64 / measured.retrievals.len() as f64, 2),
                tolerance: Tolerance::Exact,
                class: match published {
                    Some(_) => Class::Rules,
                    None => Class::NotPublished,
                },
            });
        }
    }
    rows
}

/// Returns the paper's value: Figures 2 and 4 show the stalls, and each fix ends its own stall.
fn published(problem: Problem, fixes: Fixes, document: usize) -> Option<f64> {
    let (ends_it, shown) = match problem {
        Problem::ShortInitialSegment => (fixes.headers_with_data, (Fixes::NONE, 0)),
        Problem::ShortFinalSegment => (fixes.nodelay, (Fixes::FIRST, 1)),
    };
    if ends_it {
        Some(0.0)
    } else {
        (shown == (fixes, document)).then_some(1.0)
    }
}

/// Returns "The time between the second and third data segments", shortest and longest.
fn lengths(problem: Problem, fixes: Fixes, class: Class, effort: &Effort) -> [Row; 2] {
    let measured = table_1::measure(Over::PHttp, fixes, effort.seed);
    let between = || of(&measured, problem).map(|stall| hosts::millis(stall.between));
    let found = [
        (
            "shortest stall [ms]",
            between().fold(f64::INFINITY, f64::min),
        ),
        ("longest stall [ms]", between().fold(0.0, f64::max)),
    ];
    let [low, high] = STALL_MS;
    let row = |(name, found): (&str, f64), published| Row {
        cell: vec![
            ("fixes", PaperValue::Text(fixes.name().into())),
            ("measure", PaperValue::Text(name.into())),
        ],
        standard: Some(Standard::printed(PaperValue::Number(published, 0))),
        reproduced: PaperValue::Number(found, 0),
        tolerance: Tolerance::Between(low, high),
        class,
    };
    [row(found[0], low), row(found[1], high)]
}

fn of(measured: &Measured, problem: Problem) -> impl Iterator<Item = &Stall> {
    let stalls = measured.stalls.iter();
    stalls.filter(move |stall| stall.problem == problem)
}
