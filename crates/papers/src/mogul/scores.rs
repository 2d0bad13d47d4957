//! Tables 4 to 7 as experiments: every entry, the mean distance, and the order of the variants.

use tinygram_naglemark::Keep;
use tinygram_naglemark::hosts::{Model, PARAMETERS};

use super::published::{PublishedRow, SOCKET_BUFFERS, Table};
use super::statements;
use super::tables::{
    Entry, KNOWN_MISMATCHES, entries, entry_tolerance, kept, mean_distance, measured, tolerance,
};
use crate::experiment::{Class, Effort, Layout, Origin, Outcome, Parameter, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// The literal model's hosts have no random element, so it needs little averaging.
const LITERAL_REPETITIONS: u32 = 1;

/// Measures table `number` (4 to 7) with the fitted model and, beside it, with the literal one.
pub(super) fn run(number: u8, effort: &Effort) -> Outcome {
    let table = Table::numbered(number).expect("one of Tables 4 to 7");
    let cells = kept(
        number,
        Model::Fitted,
        effort.repetitions,
        effort.seed,
        Keep::All,
    );
    let ours = in_the_papers_order(table, &entries(&cells));
    let literal = has_a_literal_reading(number).then(|| {
        let cells = measured(number, Model::Literal, LITERAL_REPETITIONS, effort.seed);
        in_the_papers_order(table, &entries(&cells))
    });
    let mut rows: Vec<Row> = ours.iter().map(|entry| row(table, entry)).collect();
    rows.extend(table.rows.iter().map(|row| worst(table, row, &ours)));
    rows.push(distance(table, &ours));
    rows.push(order(table, &ours));
    rows.extend(statements::rows(table, &cells));
    rows.extend(literal.iter().flatten().map(to_the_letter));
    Outcome {
        rules: RULES.to_vec(),
        parameters: parameters(),
        rows,
        layout: Layout::Grid {
            down: &["variant"],
            across: &["app_buffer", "socket_buffer"],
        },
        notes: notes(table, &ours, literal.as_deref()),
        ..Outcome::default()
    }
}

/// Returns whether the table has a literal reading. The text says what the variants of Tables 4 and
/// 5 do. Of the inference it only describes the idea, so how the kernel implements it had to be
/// fitted.
const fn has_a_literal_reading(number: u8) -> bool {
    number < 6
}

fn notes(table: &Table, ours: &[Entry], literal: Option<&[Entry]>) -> Vec<String> {
    let models = literal.map(|literal| {
        format!(
            "If the model follows the paper's text literally, without any fitted parameter, the \
             mean distance from Table {} is {:.2} points. With the fitted parameters it is {:.2}.",
            table.number,
            mean_distance(table, literal),
            mean_distance(table, ours),
        )
    });
    let types = trial_types(table, ours);
    let others = cross_traffic(table, ours);
    models.into_iter().chain([types]).chain(others).collect()
}

/// Returns a note about entries that are within tolerance and yet not reproduced: those with large
/// buffers whose worst trial is R and whose variant holds nothing until the clock ticks.
fn cross_traffic(table: &Table, ours: &[Entry]) -> Option<String> {
    if table.number != 4 {
        return None;
    }
    let is_by_chance = |entry: &&Entry| {
        let (trial, score) = published(table, entry);
        trial == 'R' && score < BY_CHANCE && entry.socket_buffer > SOCKET_BUFFERS[0]
    };
    let entries: Vec<_> = ours.iter().filter(is_by_chance).collect();
    let mean = |of: &dyn Fn(&Entry) -> f64| {
        entries.iter().map(|entry| of(entry)).sum::<f64>() / entries.len() as f64
    };
    Some(format!(
        "{} entries of trial type R with socket buffers of 64K and more have a mean of {:.1} % in \
         the paper and of {:.1} % here. The capture effect of Ethernet's back-off causes our \
         delays. The paper's further delays come from the cross-traffic on its Ethernet, which \
         was not recorded and is not reproduced.",
        entries.len(),
        mean(&|entry| published(table, entry).1),
        mean(&|entry| entry.score_percent),
    ))
}

/// In percent; what a policy delays has a higher score.
const BY_CHANCE: f64 = 2.0;

/// Returns the entries in the paper's order, which has the best variant of each table first.
fn in_the_papers_order(table: &Table, entries: &[Entry]) -> Vec<Entry> {
    let of = |row: &PublishedRow| {
        let variant = row.variant;
        entries.iter().filter(move |entry| entry.variant == variant)
    };
    table.rows.iter().flat_map(of).cloned().collect()
}

fn row(table: &Table, entry: &Entry) -> Row {
    let (_, published) = published(table, entry);
    let known = KNOWN_MISMATCHES.iter().find(|known| {
        (known.table, known.variant) == (table.number, entry.variant.as_str())
            && (known.app_buffer, known.socket_buffer) == (entry.app_buffer, entry.socket_buffer)
    });
    Row {
        cell: cell(entry),
        standard: Some(Standard::printed(percent(published))),
        reproduced: percent(entry.score_percent),
        tolerance: entry_tolerance(table.number, &entry.variant, published),
        class: known.map_or(Class::Fitted, |known| Class::KnownMismatch(known.why)),
    }
}

/// Returns the last column: a variant's worst entry.
fn worst(table: &Table, published: &PublishedRow, ours: &[Entry]) -> Row {
    let of_paper = worst_published(published);
    Row {
        cell: vec![
            ("variant", PaperValue::Text(published.variant.into())),
            ("measure", PaperValue::Text("worst score (%)".into())),
        ],
        standard: Some(Standard::printed(percent(of_paper))),
        reproduced: percent(worst_of_ours(published.variant, ours)),
        tolerance: entry_tolerance(table.number, published.variant, of_paper),
        class: Class::Fitted,
    }
}

/// Returns the distance from the paper's table; zero would be the table itself.
fn distance(table: &Table, ours: &[Entry]) -> Row {
    Row {
        cell: vec![measure_of(
            "mean distance from the paper's entries (points)",
        )],
        standard: Some(Standard::bound(2)),
        reproduced: PaperValue::Number(mean_distance(table, ours), 2),
        tolerance: Tolerance::Within(tolerance(table.number).mean),
        class: Class::Fitted,
    }
}

/// Returns the pairs of variants that clearly differ in the paper and are reversed or equal here.
fn order(table: &Table, ours: &[Entry]) -> Row {
    let beyond = tolerance(table.number).order_beyond;
    let mut reversed = 0;
    for better in &table.rows {
        for worse in &table.rows {
            let clearly = worst_published(worse) - worst_published(better) > beyond;
            let kept = worst_of_ours(better.variant, ours) < worst_of_ours(worse.variant, ours);
            reversed += u64::from(clearly && !kept);
        }
    }
    Row {
        cell: vec![measure_of(
            "pairs of variants that differ clearly in the paper and are not in its order here",
        )],
        standard: Some(Standard::derived(PaperValue::Count(0))),
        reproduced: PaperValue::Count(reversed),
        tolerance: Tolerance::Exact,
        class: Class::Fitted,
    }
}

/// Returns the literal model's value beside the paper's entry, for comparison and not as a claim.
fn to_the_letter(entry: &Entry) -> Row {
    let mut cell = cell(entry);
    cell.push(("model", PaperValue::Text("literal".into())));
    Row {
        cell,
        standard: None,
        reproduced: percent(entry.score_percent),
        tolerance: Tolerance::Unbounded,
        class: Class::NotPublished,
    }
}

/// Returns a note that says in how many entries the worst trial type is the paper's.
fn trial_types(table: &Table, ours: &[Entry]) -> String {
    let scored: Vec<_> = ours
        .iter()
        .filter(|entry| published(table, entry).1 > 0.0 && entry.score_percent > 0.0)
        .collect();
    let same = scored
        .iter()
        .filter(|entry| published(table, entry).0 == entry.trial.letter());
    format!(
        "The worst trial type is the same as the paper's in {} of the {} entries in which neither \
         score is zero. If two types have nearly the same score, chance decides which is worst.",
        same.count(),
        scored.len()
    )
}

fn published(table: &Table, entry: &Entry) -> (char, f64) {
    table
        .published(&entry.variant, entry.app_buffer, entry.socket_buffer)
        .expect("entries are the paper's")
}

fn worst_published(row: &PublishedRow) -> f64 {
    row.cells.iter().map(|cell| cell.1).fold(0.0, f64::max)
}

fn worst_of_ours(variant: &str, ours: &[Entry]) -> f64 {
    let of_it = ours.iter().filter(|entry| entry.variant == variant);
    of_it.map(|entry| entry.score_percent).fold(0.0, f64::max)
}

fn cell(entry: &Entry) -> Vec<(&'static str, PaperValue)> {
    vec![
        ("variant", PaperValue::Text(entry.variant.clone())),
        ("app_buffer", PaperValue::Count(entry.app_buffer)),
        ("socket_buffer", PaperValue::Count(entry.socket_buffer)),
    ]
}

fn measure_of(what: &str) -> (&'static str, PaperValue) {
    ("measure", PaperValue::Text(what.into()))
}

fn percent(score: f64) -> PaperValue {
    PaperValue::Number(score, 1)
}

/// Returns what the fitted model assumes beyond the text, each with what it was fitted to.
pub(super) fn parameters() -> Vec<Parameter> {
    let fitted = PARAMETERS.iter().map(|parameter| Parameter {
        name: parameter.name,
        value: match parameter.fitted == parameter.literal {
            true => format!("{} (in both models)", parameter.fitted),
            false => format!("{} (the text: {})", parameter.fitted, parameter.literal),
        },
        origin: Origin::Fitted(parameter.why),
    });
    fitted.collect()
}

/// The rules that both models share.
pub(super) const RULES: &[&str] = &[
    "A short segment waits while data is unacknowledged, unless the variant allows it to leave \
     (sections 1 and 5).",
    "Idle is tested once per call of tcp_output, which may send several segments (section 3).",
    "sosend copies in pieces of MCLBYTES, 8192 octets, and calls tcp_output after each (section 3).",
    "The receiver acknowledges at least every second full segment. The ticks of a free-running \
     clock of 200 ms send the ACKs that it delayed (sections 1 and 3.2).",
    "A transfer counts as delayed if it takes more than three times the estimate, which is the \
     length divided by the raw rate, plus 10 ms (section 6).",
    "An entry is the score of the worst of the trial types s, S, r and R. A trial has 1000 \
     transfers, and its score is the mean of 10 repetitions (sections 7 and 8).",
];
