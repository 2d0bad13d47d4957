//! Whether two backends agree: the same lengths stall, in as many segments.

use serde::Serialize;
use tinygram_report::units::size;
use tinygram_report::{Align, Column, Entry, Table};

use super::bench::{CellResults, Results};
use super::plan::Plan;
use super::policy::Policy;
use super::trial::Taken;

/// How far two backends agree on a cell.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Agreement {
    /// Whose figures are compared, first and second.
    backends: [&'static str; 2],
    variant: Policy,
    app_buffer: u64,
    socket_buffer: u64,
    trial: char,
    /// Transfers compared: all of them where lengths are random, those of a series once.
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

/// Every two backends, cell by cell.
pub(super) fn compare(plan: &Plan, results: &[Results]) -> Vec<Agreement> {
    let pairs = results
        .iter()
        .enumerate()
        .flat_map(|(at, one)| results[at + 1..].iter().map(move |other| (one, other)));
    let compare = |(one, other): (&Results, &Results)| {
        let backends = [one.conditions.backend, other.conditions.backend];
        let cells = one.cells.iter().zip(&other.cells);
        let agreements = cells.map(|(one, other)| agreement(plan, backends, [one, other]));
        agreements.collect::<Vec<_>>()
    };
    pairs.flat_map(compare).collect()
}

fn agreement(plan: &Plan, backends: [&'static str; 2], cells: [&CellResults; 2]) -> Agreement {
    let delayed = cells.map(|cell| delayed(plan, cell));
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
    let measured = transfers * cells[0].taken.len() / rounds(cells[0]);
    let segments = cells.map(|cell| {
        let all: u64 = cell.taken.iter().map(|taken| taken.data_segments).sum();
        all as f64 / measured.max(1) as f64
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

/// Whether each transfer is delayed. Where repetitions make the same transfers, most of them must be:
/// a stall that a rule makes comes again, one that a busy machine makes does not.
fn delayed(plan: &Plan, cell: &CellResults) -> Vec<bool> {
    let of = |taken: &Taken| -> Vec<bool> {
        let samples = taken.samples.iter();
        samples.map(|sample| cell.delays(plan, sample)).collect()
    };
    let repetitions: Vec<_> = cell.taken.iter().map(of).collect();
    if rounds(cell) == repetitions.len() {
        return repetitions.concat();
    }
    let transfers = repetitions.first().map_or(0, Vec::len);
    let times = |at: usize| repetitions.iter().filter(|one| one[at]).count();
    (0..transfers)
        .map(|at| 2 * times(at) > repetitions.len())
        .collect()
}

/// How many repetitions' transfers are judged by themselves: all where lengths are drawn anew, one
/// for all where they are the same.
fn rounds(cell: &CellResults) -> usize {
    if cell.parameters.trial.is_random() {
        cell.taken.len()
    } else {
        1
    }
}

/// A table for every two backends.
pub(super) fn tables(agreements: &[Agreement]) -> impl Iterator<Item = Table> {
    agreements
        .chunk_by(|one, next| one.backends == next.backends)
        .map(|of_two| table(of_two[0].backends, of_two))
}

/// One row for each cell.
fn table([one, other]: [&str; 2], agreements: &[Agreement]) -> Table {
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
    Table {
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
            "the same: transfers that are delayed in both or in neither, request by request; in most \
             repetitions where those make the same requests."
                .into(),
        ],
    }
}
