//! `--format parquet|arrow`: the tables of book/src/reference/tables.md.

use super::found::{Cost, Log, Prevalence, Share};
use tinygram_tables::{Rows, Table, Value, schemas};

/// Returns every table.
pub(super) fn all(prevalence: &Prevalence) -> Vec<Rows> {
    let tables = [
        &schemas::PREVALENCE_LOG,
        &schemas::PREVALENCE_SHARES,
        &schemas::PREVALENCE_COSTS,
    ];
    tables.map(|table| of(table, prevalence)).into()
}

/// Returns one table.
pub(super) fn of(table: &'static Table, prevalence: &Prevalence) -> Rows {
    let mut rows = Rows::of(table);
    match table.name {
        "prevalence_log" => rows.push(log(&prevalence.log)),
        "prevalence_shares" => prevalence.shares.iter().for_each(|it| rows.push(share(it))),
        "prevalence_costs" => prevalence.costs.iter().for_each(|it| rows.push(cost(it))),
        other => unreachable!("prevalence has no table {other}"),
    }
    rows
}

fn log(it: &Log) -> [(&'static str, Value); 12] {
    [
        ("lines", it.lines.into()),
        ("unreadable", it.unreadable.into()),
        ("responses", it.responses.into()),
        ("with_body", it.with_body.into()),
        ("head", it.head.into()),
        ("not_modified", it.not_modified.into()),
        ("empty", it.empty.into()),
        ("body_bytes", it.body_bytes.into()),
        ("distinct_sizes", it.distinct_sizes.into()),
        ("first", it.first.clone().into()),
        ("last", it.last.clone().into()),
        ("days", it.days.into()),
    ]
}

fn share(it: &Share) -> [(&'static str, Value); 5] {
    [
        ("mss", it.mss.into()),
        ("mclbytes", it.mclbytes.into()),
        ("delayed", it.delayed.into()),
        ("share_percent", it.share_percent.into()),
        ("share_of_all_percent", it.share_of_all_percent.into()),
    ]
}

fn cost(it: &Cost) -> [(&'static str, Value); 9] {
    [
        ("policy", it.policy.as_str().into()),
        ("mss", it.mss.into()),
        ("mclbytes", it.mclbytes.into()),
        ("delayed", it.delayed.into()),
        ("delayed_percent", it.delayed_percent.into()),
        ("stall_s", it.stall_s.into()),
        ("stall_s_per_day", it.stall_s_per_day.into()),
        ("segments", it.segments.into()),
        ("segments_per_day", it.segments_per_day.into()),
    ]
}
