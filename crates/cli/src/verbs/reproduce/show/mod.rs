//! The results, with one exporter per format, all from the same tables.

mod accounts;
mod disagreements;
mod json;
mod markdown;
mod page;
mod rows;
mod tables;
mod text;
mod trace;
mod words;

pub(super) use page::page;
pub(super) use rows::rows;
use tinygram_report::{Column, Entry, Ink, Table};
pub(super) use trace::{as_pcapng, as_text, traces};

use super::args::Format;
use super::done::Reproduced;
use super::plan::Plan;

/// Returns the results in `format`; text fits `canvas`.
pub(super) fn results(
    plan: &Plan,
    reproduced: &[Reproduced],
    format: Format,
    canvas: (Ink, usize),
) -> String {
    match format {
        // The other formats are rows, not text.
        Format::Text | Format::Parquet | Format::Arrow => text::results(plan, reproduced, canvas),
        Format::Json => json::results(plan, reproduced),
        Format::Markdown => markdown::results(plan, reproduced),
    }
}

/// Returns the list of experiments.
pub(super) fn list(plan: &Plan, format: Format, (ink, width): (Ink, usize)) -> String {
    let row = |it: &tinygram_papers::Experiment| {
        let place = format!("{}, {}", words::authors(it.paper), it.source);
        [it.id.into(), it.title.into(), place]
            .map(|text: String| Entry::new(text))
            .into()
    };
    let table = Table {
        columns: columns(["Id", "What it reproduces", "Where it stands"]),
        rows: plan.experiments.all().map(row).collect(),
        ..Table::default()
    };
    match format {
        Format::Text | Format::Parquet | Format::Arrow => table.to_text(width, ink),
        Format::Markdown => table.to_markdown(),
        Format::Json => json::list(plan),
    }
}

/// Returns plain columns of words.
fn columns<const N: usize>(heads: [&str; N]) -> Vec<Column> {
    heads.map(Column::words).into()
}
