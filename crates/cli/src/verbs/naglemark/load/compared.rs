//! What was measured in real time, compared: how many times each policy's latency is the first one's.

use serde::Serialize;
use tinygram_naglemark::load::{LoadRow, Metric, Ratio, ratio};
use tinygram_report::units::grouped;
use tinygram_report::{Column, Entry, Row, Table};

use super::cells::planned;

/// A policy at a load, as in the document.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Compared {
    policy: String,
    against: String,
    /// Absent in a closed loop and in a course.
    load_per_second: Option<f64>,
    metric: &'static str,
    times: f64,
    from: f64,
    to: f64,
}

/// A row, and that of the first policy at the same load.
type Pair<'a> = (&'a LoadRow, &'a LoadRow);

/// Returns the rows of all policies but the first, each with the first one's.
pub(super) fn beside_the_first(rows: &[LoadRow]) -> Vec<Pair<'_>> {
    let first = rows.first().map(|row| row.cell.policy.label());
    let is_first = |row: &&LoadRow| Some(row.cell.policy.label()) == first;
    let others = rows.iter().filter(|row| !is_first(row));
    let pairs = others.filter_map(|row| {
        let mut firsts = rows.iter().filter(is_first);
        let beside = firsts.find(|it| it.cell.demand == row.cell.demand)?;
        Some((row, beside))
    });
    pairs.collect()
}

/// Returns a pair's ratios, by metric.
pub(super) fn of((row, first): &Pair<'_>) -> Vec<Compared> {
    let compared = |metric: Metric| {
        let Ratio { value, low, high } = ratio(row, first, metric)?;
        Some(Compared {
            policy: row.cell.policy.label().into(),
            against: first.cell.policy.label().into(),
            load_per_second: planned(&row.cell.demand),
            metric: metric.name(),
            times: value,
            from: low,
            to: high,
        })
    };
    Metric::ALL.into_iter().filter_map(compared).collect()
}

/// Returns the comparison as a table; `None` if there are no pairs.
pub(super) fn table(pairs: &[Pair<'_>]) -> Option<Table> {
    let (_, first) = pairs.first()?;
    let row = |(row, first): &Pair<'_>| -> Row {
        let load = planned(&row.cell.demand);
        let load = load.map_or_else(|| "-".into(), |load| grouped(load as u64));
        let mut cells = vec![row.cell.policy.label().to_owned(), load];
        for metric in [Metric::Mean, Metric::P99] {
            cells.extend(match ratio(row, first, metric) {
                Some(ratio) => [ratio.value, ratio.low, ratio.high].map(|it| format!("{it:.3}")),
                None => ["-"; 3].map(String::from),
            });
        }
        cells.into_iter().map(Entry::new).collect()
    };
    let mut columns = vec![Column::words("Policy"), Column::numbers("asked")];
    for group in ["mean", "p99"] {
        let heads = ["times", "from", "to"].map(Column::numbers);
        columns.extend(heads.map(|column| column.in_group(group)));
    }
    Some(Table {
        title: format!("Latency, in times of {}", first.cell.policy.label()),
        columns,
        rows: pairs.iter().map(row).collect(),
        notes: vec![
            "times: the geometric mean over the repetitions, each beside the same requests under the other policy; from, to: \
             the 95 % interval (bootstrap over the repetitions; too narrow if they are few)."
                .into(),
        ],
    })
}
