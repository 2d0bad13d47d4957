//! For a terminal: a line for each experiment, or all of its tables; then what does not agree.

use tinygram_papers::experiment::Status;
use tinygram_report::{Align, Column, Entry, Ink, Table};

use super::super::bench::{Reproduced, Tally};
use super::super::plan::Plan;
use super::{tables, trace, words};

pub(super) fn results(plan: &Plan, reproduced: &[Reproduced], canvas: (Ink, usize)) -> String {
    let mut text = String::new();
    if plan.shows_tables {
        for it in reproduced {
            text += &whole(it, canvas);
            text += "\n";
        }
    }
    text += &summary(plan, reproduced).to_text(canvas.1, canvas.0);
    text
}

/// An experiment with all that stands behind it.
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

/// A line for each experiment; beneath, what does not agree.
fn summary(plan: &Plan, reproduced: &[Reproduced]) -> Table {
    Table {
        notes: verdicts(plan, reproduced),
        ..counts(reproduced)
    }
}

/// A line for each experiment: how many of its rows have which status.
pub(super) fn counts(reproduced: &[Reproduced]) -> Table {
    let column = |head: &str, align| Column {
        group: String::new(),
        head: head.into(),
        align,
    };
    let mut columns = vec![column("Experiment", Align::Left)];
    let statuses = Tally::default().counted();
    columns.extend(statuses.map(|(status, _)| column(words::status(status), Align::Right)));
    columns.push(column("What", Align::Left));
    let mut rows: Vec<_> = reproduced
        .iter()
        .map(|it| {
            counted(
                it.experiment.id,
                Tally::of(&it.outcome.rows),
                it.experiment.title,
            )
        })
        .collect();
    if reproduced.len() > 1 {
        rows.push(counted("all", Tally::of_all(reproduced), ""));
    }
    Table {
        columns,
        rows,
        ..Table::default()
    }
}

/// Everything that does not agree, by name; what the signs mean; the verdict on all.
fn verdicts(plan: &Plan, reproduced: &[Reproduced]) -> Vec<String> {
    let mut notes = disagreements(reproduced);
    notes.push(words::SIGNS.into());
    notes.push(words::verdict(plan, reproduced));
    notes
}

fn counted(id: &str, tally: Tally, what: &str) -> Vec<Entry> {
    let mut row = vec![Entry::new(id)];
    row.extend(tally.counted().map(|(status, count)| Entry {
        text: match count {
            0 => "-".into(),
            count => count.to_string(),
        },
        weight: f64::from(status == Status::Miss && count > 0),
        ..Entry::default()
    }));
    row.push(Entry::new(what));
    row
}

/// What does not agree: a line for each miss; a line for each reason with the values behind it.
fn disagreements(reproduced: &[Reproduced]) -> Vec<String> {
    let line = |off: &words::Disagreement<'_>| {
        let values: Vec<_> = off.rows.iter().map(|row| words::compared(row)).collect();
        let why = off.why.unwrap_or("should agree");
        let sign = words::sign(off.status);
        format!("{sign} {}: {why}: {}", off.id, values.join("; "))
    };
    words::disagreements(reproduced).iter().map(line).collect()
}
