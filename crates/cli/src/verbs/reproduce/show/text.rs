//! Results for a terminal: a line for each experiment, or all of its tables; then the
//! disagreements.

use tinygram_papers::Source;
use tinygram_papers::experiment::{Row, Status};
use tinygram_report::{Column, Entry, Ink, Table};

use super::super::done::{Reproduced, Tally};
use super::super::plan::Plan;
use super::{accounts, tables, trace, words};

pub(super) fn results(plan: &Plan, reproduced: &[Reproduced], canvas: (Ink, usize)) -> String {
    let mut text = String::new();
    if plan.shows_tables {
        for it in reproduced {
            text += &whole(it, canvas);
            text += "\n";
        }
    }
    let accounts = accounts::table(reproduced);
    if !accounts.rows.is_empty() {
        text += &accounts.to_text(canvas.1, canvas.0);
        text += "\n";
    }
    text += &summary(plan, reproduced).to_text(canvas.1, canvas.0);
    text
}

/// Returns an experiment with all its details.
fn whole(it: &Reproduced, (ink, width): (Ink, usize)) -> String {
    let experiment = it.experiment;
    let shown = |table: Table| table.to_text(width, ink);
    let heading = Table {
        title: format!("{}: {}", experiment.id, experiment.title),
        notes: vec![format!(
            "{}: {}.",
            experiment.paper.citation(),
            experiment.source
        )],
        ..Table::default()
    };
    let mut parts = vec![shown(heading)];
    parts.extend(tables::tables(&it.outcome).into_iter().map(shown));
    let beyond = tables::beyond(&it.outcome);
    if !beyond.is_empty() {
        parts.push(shown(listed(words::BEYOND, vec![words::BEYOND_IS.into()])));
        parts.extend(beyond.into_iter().map(shown));
    }
    for trace in &it.outcome.traces {
        parts.push(format!(
            "{}\n{}\n",
            trace.title,
            trace::lines(trace).join("\n")
        ));
    }
    parts.push(shown(listed("Notes", it.outcome.notes.clone())));
    parts.push(shown(listed(
        "Rules",
        it.outcome
            .rules
            .iter()
            .map(|rule| (*rule).to_owned())
            .collect(),
    )));
    let parameters = it.outcome.parameters.iter().map(|parameter| {
        let origin = words::origin(parameter.origin);
        format!("{}: {} ({origin})", parameter.name, parameter.value)
    });
    parts.push(shown(listed("Parameters", parameters.collect())));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn listed(title: &str, notes: Vec<String>) -> Table {
    Table {
        title: if notes.is_empty() {
            String::new()
        } else {
            title.into()
        },
        notes,
        ..Table::default()
    }
}

/// Returns a line for each experiment, followed by the disagreements.
fn summary(plan: &Plan, reproduced: &[Reproduced]) -> Table {
    Table {
        notes: verdicts(plan, reproduced),
        ..counts(reproduced)
    }
}

/// Returns a line for each experiment: how many of the paper's values have which status, and how
/// many derived values hold. The last line adds up the printed values, each table once.
pub(super) fn counts(reproduced: &[Reproduced]) -> Table {
    let mut columns = vec![Column::words("Experiment")];
    let statuses = printed(Tally::default());
    let one = |(status, _)| Column::numbers(words::status(status)).in_group(PRINTED);
    columns.extend(statuses.map(one));
    columns.push(Column::numbers("derived values"));
    let shows_here = Tally::of_all(reproduced).here > 0;
    if shows_here {
        columns.push(Column::numbers(words::status(Status::MeasuredHere)));
    }
    columns.push(Column::words("Subject"));
    let mut rows: Vec<_> = reproduced
        .iter()
        .map(|it| {
            let what = match it.experiment.repeats() {
                Some(other) => format!(
                    "{} (the values of {other}, not counted in the sum)",
                    it.experiment.title
                ),
                None => it.experiment.title.to_owned(),
            };
            counted(it.experiment.id, &it.outcome.rows, &what, shows_here)
        })
        .collect();
    if reproduced.len() > 1 {
        let once = reproduced
            .iter()
            .filter(|it| it.experiment.repeats().is_none());
        rows.push(counted(
            "all",
            once.flat_map(|it| &it.outcome.rows),
            "",
            shows_here,
        ));
    }
    Table {
        columns,
        rows,
        ..Table::default()
    }
}

const PRINTED: &str = "printed by the paper";

/// Returns the statuses that a printed value can have, with their counts.
fn printed(tally: Tally) -> [(Status, usize); 4] {
    let [matches, fitted, known, misses, ..] = tally.counted();
    [matches, fitted, known, misses]
}

/// Returns the disagreements by name, the meaning of the signs, and the verdict on all.
fn verdicts(plan: &Plan, reproduced: &[Reproduced]) -> Vec<String> {
    let mut notes = disagreements(reproduced);
    notes.push(words::SIGNS.into());
    notes.push(words::verdict(plan, reproduced));
    notes
}

fn counted<'a>(
    id: &str,
    rows: impl IntoIterator<Item = &'a Row>,
    what: &str,
    shows_here: bool,
) -> Vec<Entry> {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let mut row = vec![Entry::new(id)];
    let tally = Tally::printed(rows.iter().copied());
    row.extend(printed(tally).map(|(status, count)| Entry {
        text: match count {
            0 => "-".into(),
            count => count.to_string(),
        },
        weight: f64::from(status == Status::Miss && count > 0),
        ..Entry::default()
    }));
    let here = Tally::of(rows.iter().copied()).here;
    let follows = rows
        .into_iter()
        .filter(|row| matches!(row.source(), Some(Source::Derived | Source::Bound)));
    row.push(Entry::new(match Tally::of(follows).agreeing() {
        (_, 0) => "-".into(),
        (agreeing, all) => format!("{agreeing} of {all}"),
    }));
    if shows_here {
        row.push(Entry::new(here.to_string()));
    }
    row.push(Entry::new(what));
    row
}

/// Returns the disagreements: a line for each miss, and a line for each reason with its values.
fn disagreements(reproduced: &[Reproduced]) -> Vec<String> {
    let line = |off: &words::Disagreement<'_>| {
        let values: Vec<_> = off.rows.iter().map(|row| words::compared(row)).collect();
        let why = off.why.unwrap_or("should agree");
        let sign = words::sign(off.status);
        format!("{sign} {}: {why}: {}", off.id, values.join("; "))
    };
    words::disagreements(reproduced).iter().map(line).collect()
}
