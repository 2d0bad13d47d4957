//! `--format parquet|arrow`: every row of every experiment, as in book/src/reference/tables.md.

use tinygram_papers::Source;
use tinygram_papers::experiment::Row;
use tinygram_papers::value::PaperValue;
use tinygram_tables::{Rows, Value, schemas};

use super::super::done::Reproduced;
use super::words;

pub(in super::super) fn rows(reproduced: &[Reproduced]) -> Rows {
    let mut rows = Rows::of(&schemas::REPRODUCE);
    for it in reproduced {
        for (number, row) in it.outcome.rows.iter().enumerate() {
            rows.push(of(it, number, row));
        }
    }
    rows
}

fn of(it: &Reproduced, number: usize, row: &Row) -> [(&'static str, Value); 16] {
    let cell: Vec<_> = row
        .cell
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let held_to = row.held_to();
    let number_of = |value: Option<&PaperValue>| value.and_then(PaperValue::number);
    let allowed = number_of(held_to).and_then(|paper| words::allowed(row.tolerance, paper));
    let source = row.source().map(|source| match source {
        Source::Printed => "printed",
        Source::Derived => "derived",
        Source::Bound => "bound",
    });
    [
        ("experiment", it.experiment.id.into()),
        ("paper", words::authors(it.experiment.paper).into()),
        ("title", it.experiment.title.into()),
        ("source", it.experiment.source.into()),
        ("row", (number as u64).into()),
        ("cell", cell.join("; ").into()),
        ("held_to", source.into()),
        ("expected", held_to.map(ToString::to_string).into()),
        ("expected_number", number_of(held_to).into()),
        ("reproduced", row.reproduced.to_string().into()),
        ("reproduced_number", number_of(Some(&row.reproduced)).into()),
        ("lowest_allowed", allowed.map(|(low, _)| low).into()),
        ("highest_allowed", allowed.map(|(_, high)| high).into()),
        ("class", words::class_name(row.class).into()),
        ("status", words::status_name(row.status()).into()),
        ("why", words::reason(row).into()),
    ]
}
