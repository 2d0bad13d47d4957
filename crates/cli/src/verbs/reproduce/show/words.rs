//! The wording of results, the same in every format.

use tinygram_papers::experiment::{Class, Origin, Paper, Row, Status};
use tinygram_papers::value::{PaperValue, Tolerance};
use tinygram_papers::{Experiment, Source};
use tinygram_report::Tone;
use tinygram_report::units::{counted, size};

use super::super::done::{Reproduced, Tally};
use super::super::plan::Plan;

/// Returns a status in words.
pub(super) const fn status(status: Status) -> &'static str {
    match status {
        Status::Match => "match",
        Status::Fitted => "fitted",
        Status::KnownMismatch => "known mismatch",
        Status::Miss => "miss",
        Status::MeasuredHere => "measured here",
        Status::NotPublished => "not published",
    }
}

/// Returns the name of a status in a document for programs.
pub(super) const fn status_name(status: Status) -> &'static str {
    match status {
        Status::Match => "match",
        Status::Fitted => "fitted",
        Status::KnownMismatch => "known-mismatch",
        Status::Miss => "miss",
        Status::MeasuredHere => "measured-here",
        Status::NotPublished => "not-published",
    }
}

/// Returns the name of a class in a document for programs.
pub(super) const fn class_name(class: Class) -> &'static str {
    match class {
        Class::Rules => "rules",
        Class::Fitted => "fitted",
        Class::Predicted => "predicted",
        Class::KnownMismatch(_) => "known-mismatch",
        Class::MeasuredHere => "measured-here",
        Class::NotPublished => "not-published",
    }
}

/// Returns the sign of a status, which needs no colour.
pub(super) const fn sign(status: Status) -> &'static str {
    match status {
        Status::Match => "=",
        Status::Fitted => "≈",
        Status::KnownMismatch => "≠",
        Status::Miss => "✗",
        Status::MeasuredHere | Status::NotPublished => "",
    }
}

/// The meaning of the signs, for the foot of a page.
pub(super) const SIGNS: &str = "= agrees by protocol rules alone; ≈ agrees with fitted values; ≠ \
     differs for a known reason, which is given; ✗ differs and should not. \"Wanted\" marks a \
     value that the paper does not print but that follows from it. \"At most\" marks a limit that \
     we set for a distance from the paper.";

/// The heading of what the papers do not contain.
pub(super) const BEYOND: &str = "Beyond the paper";

/// The text beneath that heading.
pub(super) const BEYOND_IS: &str =
    "The paper does not have these values. They are compared with nothing and are not counted.";

pub(super) const fn tone(status: Status) -> Tone {
    match status {
        Status::Match => Tone::Good,
        Status::Fitted => Tone::Fair,
        Status::KnownMismatch => Tone::Odd,
        Status::Miss => Tone::Bad,
        Status::MeasuredHere | Status::NotPublished => Tone::Plain,
    }
}

/// Returns a tolerance in words.
pub(super) fn tolerance(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Exact => "exact".into(),
        Tolerance::Within(distance) => format!("± {distance}"),
        Tolerance::Share(share) => format!("± {} %", (1000.0 * share).round() / 10.0),
        Tolerance::Between(low, high) => format!("{low} to {high}"),
        Tolerance::Unbounded => "-".into(),
    }
}

/// Returns the value that a row is held to: the paper's value as it is, a derived one with a note.
pub(super) fn standard(row: &Row) -> Option<String> {
    row.standard.as_ref().map(|it| match it.source {
        Source::Printed => it.value.to_string(),
        Source::Derived => format!("wanted {}", it.value),
        Source::Bound => format!("at most {}", row.most()),
    })
}

/// Returns the range of values that a tolerance allows around the paper's number, both ends
/// included; `None` if any value is allowed.
pub(super) fn allowed(tolerance: Tolerance, paper: f64) -> Option<(f64, f64)> {
    let around = |distance: f64| Some((paper - distance, paper + distance));
    match tolerance {
        Tolerance::Exact => around(0.0),
        Tolerance::Within(distance) => around(distance),
        Tolerance::Share(share) => around(share * paper.abs()),
        Tolerance::Between(low, high) => Some((low, high)),
        Tolerance::Unbounded => None,
    }
}

/// Returns a part of a cell; sizes are written as in the papers.
pub(super) fn part(value: &PaperValue) -> String {
    match value {
        PaperValue::Count(octets) if *octets >= 1024 => size(*octets),
        other => other.to_string(),
    }
}

/// Returns a name for people: `app_buffer` becomes two words.
pub(super) fn key(key: &str) -> String {
    key.replace('_', " ")
}

/// Returns in a line what a row belongs to.
pub(super) fn cell(row: &Row) -> String {
    let word = |(name, value): &(&str, PaperValue)| match value {
        PaperValue::Text(text) => text.clone(),
        value => format!("{} {}", key(name), part(value)),
    };
    row.cell.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Returns a row in a line: what it belongs to, the value it is held to, and the reproduced value.
pub(super) fn compared(row: &Row) -> String {
    let held_to = match (row.source(), standard(row)) {
        (Some(Source::Printed), Some(printed)) => format!("paper {printed}"),
        (_, Some(ours)) => ours,
        (_, None) => "paper -".into(),
    };
    format!("{}: {held_to}, ours {}", cell(row), row.reproduced)
}

/// Rows of an experiment that are off for one reason.
pub(super) struct Disagreement<'a> {
    pub(super) id: &'static str,
    pub(super) status: Status,
    /// The reason, if it is known.
    pub(super) why: Option<&'static str>,
    pub(super) rows: Vec<&'a Row>,
}

/// Returns all rows that are off, misses first.
pub(super) fn disagreements(reproduced: &[Reproduced]) -> Vec<Disagreement<'_>> {
    let mut all: Vec<Disagreement<'_>> = Vec::new();
    for status in [Status::Miss, Status::KnownMismatch] {
        for it in reproduced {
            for row in it.outcome.rows.iter().filter(|row| row.status() == status) {
                let (id, why) = (it.experiment.id, reason(row));
                let same = |off: &&mut Disagreement<'_>| {
                    (off.id, off.status, off.why) == (id, status, why)
                };
                match all.iter_mut().find(same) {
                    Some(off) => off.rows.push(row),
                    None => all.push(Disagreement {
                        id,
                        status,
                        why,
                        rows: vec![row],
                    }),
                }
            }
        }
    }
    all
}

/// Returns in a sentence whether everything agrees that should.
pub(super) fn verdict(plan: &Plan, reproduced: &[Reproduced]) -> String {
    let tally = Tally::of_all(reproduced);
    if tally.here > 0 && tally.agreeing().1 == 0 {
        let rows = counted(tally.here as u64, "row");
        return format!(
            "{rows} of this kernel, of today; they are held to nothing, and what could not be measured says why."
        );
    }
    let mut line = if tally.misses == 0 {
        "All values that should match the papers do".to_owned()
    } else {
        let values = counted(tally.misses as u64, "value");
        format!("{values} should match the papers and do not")
    };
    if !plan.is_the_papers_effort() {
        let repetitions = counted(plan.effort.repetitions.into(), "repetition");
        line += &format!(" (with {repetitions}; tolerances are for 10)");
    }
    line + "."
}

/// Returns an experiment's heading: its place in the paper and its title.
pub(super) fn heading(experiment: &Experiment) -> String {
    capital(&format!("{}: {}", experiment.source, experiment.title))
}

/// Returns the text with a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Returns the reason why a row is not expected to agree.
pub(super) const fn reason(row: &Row) -> Option<&'static str> {
    match row.class {
        Class::KnownMismatch(why) => Some(why),
        _ => None,
    }
}

/// Returns the origin of a parameter in words: read, fitted or assumed, and from what.
pub(super) fn origin(origin: Origin) -> String {
    match origin {
        Origin::Paper(place) => format!("the paper: {place}"),
        Origin::Fitted(to) => format!("fitted: {to}"),
        Origin::Assumed(why) => format!("assumed: {why}"),
    }
}

/// Returns the name of a paper in two or three words.
pub(super) const fn authors(paper: Paper) -> &'static str {
    match paper {
        Paper::Mogul => "Mogul & Minshall",
        Paper::Moldeklev => "Moldeklev & Gunningberg",
        Paper::Heidemann => "Heidemann",
        Paper::Doupnik => "Doupnik",
        Paper::Davids => "Davids",
    }
}
