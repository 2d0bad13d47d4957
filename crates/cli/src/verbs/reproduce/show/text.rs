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
            "{}, {}.",
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

/// A line for each experiment; beneath, everything that does not agree, by name.
pub(super) fn summary(plan: &Plan, reproduced: &[Reproduced]) -> Table {
    let column = |head: &str, align| Column {
        group: String::new(),
        head: head.into(),
        align,
    };
    let mut columns = vec![column("Experiment", Align::Left)];
    let counts = Tally::default().named();
    columns.extend(counts.iter().map(|(name, _)| column(name, Align::Right)));
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
    let mut notes = disagreements(reproduced, Status::Miss);
    notes.extend(disagreements(reproduced, Status::KnownMismatch));
    notes.push(words::SIGNS.into());
    notes.push(verdict(plan, reproduced));
    Table {
        title: String::new(),
        columns,
        rows,
        notes,
    }
}

fn counted(id: &str, tally: Tally, what: &str) -> Vec<Entry> {
    let mut row = vec![Entry::new(id)];
    row.extend(tally.named().map(|(name, count)| Entry {
        text: if count == 0 {
            "-".into()
        } else {
            count.to_string()
        },
        weight: if name == "miss" && count > 0 {
            1.0
        } else {
            0.0
        },
        ..Entry::default()
    }));
    row.push(Entry::new(what));
    row
}

/// Every row of this status: which, what the paper has, what we have.
fn disagreements(reproduced: &[Reproduced], status: Status) -> Vec<String> {
    let mut lines = Vec::new();
    for it in reproduced {
        for row in it.outcome.rows.iter().filter(|row| row.status() == status) {
            let published = row
                .published
                .as_ref()
                .map_or_else(String::new, ToString::to_string);
            let mut line = format!(
                "{} {} {}, {}: paper {published}, ours {}",
                words::sign(status),
                words::status(status),
                it.experiment.id,
                words::cell(row),
                row.reproduced,
            );
            line += &match words::reason(row) {
                Some(why) => format!(": {why}"),
                None => format!(" (allowed: {})", words::tolerance(row.tolerance)),
            };
            lines.push(line);
        }
    }
    lines
}

fn verdict(plan: &Plan, reproduced: &[Reproduced]) -> String {
    let tally = Tally::of_all(reproduced);
    let mut line = if tally.misses == 0 {
        "Everything that should match the papers does".to_owned()
    } else {
        format!("{} values should match the papers and do not", tally.misses)
    };
    if !plan.is_the_papers_effort() {
        line += &format!(
            " (with {} repetitions; tolerances are for 10)",
            plan.effort.repetitions
        );
    }
    line + "."
}
