//! Whether two backends agree: the same lengths stall, in as many segments.

use serde::Serialize;
use tinygram_report::units::size;
use tinygram_report::{Align, Column, Entry, Table};

use super::bench::{CellResults, Results};
use super::plan::Plan;
use super::policy::Policy;

/// How far two backends agree on a cell.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Agreement {
    /// Whose figures are compared, first and second.
    backends: [&'static str; 2],
    variant: Policy,
    app_buffer: u64,
    socket_buffer: u64,
    trial: char,
    /// Transfers compared, all repetitions together.
    transfers: usize,
    /// Those that are delayed, first and second.
    delayed: [usize; 2],
    /// The lengths, in octets, that are delayed in one of them alone.
    differing: Vec<u32>,
    /// Transfers that are delayed in both or in neither, in per cent.
    agreement_percent: f64,
    segments_per_transfer: [f64; 2],
    /// The second's over the first's.
    segments_ratio: f64,
}

/// The first backend with each of the others, cell by cell.
pub(super) fn compare(plan: &Plan, results: &[Results]) -> Vec<Agreement> {
    let Some((first, others)) = results.split_first() else {
        return Vec::new();
    };
    let compare = |other: &'_ Results| {
        let backends = [first.conditions.backend, other.conditions.backend];
        let pairs = first.cells.iter().zip(&other.cells);
        let agreements = pairs.map(|(one, other)| agreement(plan, backends, [one, other]));
        agreements.collect::<Vec<_>>()
    };
    others.iter().flat_map(compare).collect()
}

fn agreement(plan: &Plan, backends: [&'static str; 2], cells: [&CellResults; 2]) -> Agreement {
    let delayed = cells.map(|cell| {
        let samples = cell.taken.iter().flat_map(|taken| &taken.samples);
        samples
            .map(|sample| cell.delays(plan, sample))
            .collect::<Vec<_>>()
    });
    let lengths = cells[0].taken.iter().flat_map(|taken| &taken.samples);
    let differing = lengths
        .zip(delayed[0].iter().zip(&delayed[1]))
        .filter(|(_, (one, other))| one != other)
        .map(|(sample, _)| sample.length);
    let differing = differing.collect();
    let alike = delayed[0]
        .iter()
        .zip(&delayed[1])
        .filter(|(one, other)| one == other);
    let transfers = delayed[0].len();
    let segments = cells.map(|cell| {
        let all: u64 = cell.taken.iter().map(|taken| taken.data_segments).sum();
        all as f64 / transfers.max(1) as f64
    });
    let parameters = &cells[0].parameters;
    Agreement {
        backends,
        variant: cells[0].policy,
        app_buffer: parameters.app_buffer,
        socket_buffer: parameters.socket_buffer,
        trial: parameters.trial.letter(),
        transfers,
        differing,
        agreement_percent: 100.0 * alike.count() as f64 / transfers.max(1) as f64,
        delayed: delayed.map(|of| of.into_iter().filter(|delayed| *delayed).count()),
        segments_per_transfer: segments,
        segments_ratio: segments[1] / segments[0],
    }
}

/// One row for each cell; nothing where there was nothing to compare.
pub(super) fn table(agreements: &[Agreement]) -> Option<Table> {
    let [one, other] = agreements.first()?.backends;
    let column = |group: &str, head: &str, align| Column {
        group: group.into(),
        head: head.into(),
        align,
    };
    let number = |group: &str, head: &str| column(group, head, Align::Right);
    let row = |it: &Agreement| {
        [
            it.variant.label().into(),
            format!(
                "{}/{} {}",
                size(it.app_buffer),
                size(it.socket_buffer),
                it.trial
            ),
            it.transfers.to_string(),
            it.delayed[0].to_string(),
            it.delayed[1].to_string(),
            format!("{:.1} %", it.agreement_percent),
            format!("{:.3}", it.segments_per_transfer[0]),
            format!("{:.3}", it.segments_per_transfer[1]),
            format!("{:+.2} %", 100.0 * (it.segments_ratio - 1.0)),
        ]
        .map(Entry::new)
        .into()
    };
    Some(Table {
        title: format!("Agreement of {one} and {other}"),
        columns: vec![
            column("", "Variant", Align::Left),
            column("", "Buffers", Align::Left),
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
            "the same: transfers that are delayed in both or in neither, request by request."
                .into(),
        ],
    })
}
