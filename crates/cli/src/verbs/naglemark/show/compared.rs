//! Backends side by side: how far they agree, under which conditions, and whether the machine was
//! quiet enough.

use tinygram_naglemark::{Agreement, Cell, Conditions, Outcome, Outliers};
use tinygram_report::units::size;
use tinygram_report::{Column, Entry, Table};

use super::panel::COUNTED;

/// Returns a table for every two backends.
pub(in super::super) fn agreement(agreements: &[Agreement]) -> impl Iterator<Item = Table> {
    agreements
        .chunk_by(|one, next| one.backends == next.backends)
        .map(|of_two| table(&of_two[0].backends, of_two))
}

/// Returns a table with one row per cell.
fn table([one, other]: &[String; 2], agreements: &[Agreement]) -> Table {
    let number = |group: &str, head: &str| Column::numbers(head).in_group(group);
    let row = |it: &Agreement| {
        [
            it.variant.label().into(),
            format!(
                "{}/{} {}",
                size(it.app_buffer),
                size(it.socket_buffer),
                it.trial.letter()
            ),
            it.transfers.to_string(),
            it.delayed[0].to_string(),
            it.delayed[1].to_string(),
            format!("{:.1} %", it.agreement_percent),
            format!("{:.3}", it.segments_per_transfer[0].expect(COUNTED)),
            format!("{:.3}", it.segments_per_transfer[1].expect(COUNTED)),
            format!(
                "{:+.2} %",
                100.0 * (it.segments_ratio.expect(COUNTED) - 1.0)
            ),
        ]
        .map(Entry::new)
        .into()
    };
    Table {
        title: format!("Agreement of {one} and {other}"),
        columns: vec![
            Column::words("Variant"),
            Column::words("Buffers"),
            number("", "transfers"),
            number("delayed", one),
            number("delayed", other),
            number("", "the same"),
            number("segments per transfer", one),
            number("segments per transfer", other),
            number("", "difference"),
        ],
        rows: agreements.iter().map(row).collect(),
        notes: vec![
            "the same: transfers that are delayed in both or in neither, request by request; in most \
             repetitions where those make the same requests."
                .into(),
        ],
    }
}

/// Returns the table of conditions for the end of a page.
pub(in super::super) fn conditions(conditions: &[&Conditions]) -> Table {
    let heads = ["Backend", "Link", "Stack", "MSS", "Congestion control"];
    Table {
        title: "Conditions".into(),
        columns: heads.map(Column::words).into(),
        rows: conditions
            .iter()
            .map(|it| {
                let mss = it.mss.to_string();
                [&it.backend, &it.link, &it.stack, &mss, &it.congestion]
                    .map(|text| Entry::new(text.as_str()))
                    .into()
            })
            .collect(),
        notes: Vec::new(),
    }
}

/// Returns remarks for standard error about cells that were measured on a busy machine: one for
/// each if they are few, otherwise one for the worst.
pub(in super::super) fn remarks(outcome: &Outcome) -> Vec<String> {
    if outcome.is_virtual {
        return Vec::new();
    }
    let found = outcome.cells.iter();
    let mut found: Vec<_> = found
        .filter_map(|it| Some((it.outliers(&outcome.yardstick)?, &it.cell)))
        .collect();
    found.sort_by(|(one, _), (other, _)| other.share().total_cmp(&one.share()));
    let backend = &outcome.conditions.backend;
    let line = |(outliers, cell): &(Outliers, &Cell)| {
        format!("tinygram: {backend}, {}: {outliers}", name(cell))
    };
    match found.len() {
        0..=FEW => found.iter().map(line).collect(),
        many => vec![format!(
            "{}; so it is for {} more of {} cells",
            line(&found[0]),
            many - 1,
            outcome.cells.len()
        )],
    }
}

/// Returns a cell's name in remarks.
fn name(cell: &Cell) -> String {
    format!(
        "{} {}/{} {}",
        cell.policy.label(),
        size(cell.app_buffer),
        size(cell.socket_buffer),
        cell.trial_type.letter()
    )
}

/// The most cells that get a remark each.
const FEW: usize = 3;
