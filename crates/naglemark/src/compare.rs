//! Compares two backends: whether the same lengths stall, in the same number of segments.

use serde::Serialize;

use crate::outcome::{Measured, Outcome};
use crate::policy::Policy;
use crate::score::Yardstick;
use crate::trial::{Taken, TrialType};

/// How far two backends agree on a cell.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// The names of the first and the second backend.
    pub backends: [String; 2],
    /// The cell's policy.
    pub variant: Policy,
    /// Octets.
    pub app_buffer: u64,
    /// Octets.
    pub socket_buffer: u64,
    /// The cell's trial type.
    pub trial: TrialType,
    /// How many transfers are compared: all of them if lengths are random, one repetition's if they
    /// are a series.
    pub transfers: usize,
    /// How many of them are delayed, on the first and on the second backend.
    pub delayed: [usize; 2],
    /// The lengths, in octets, that are delayed on only one of the two backends.
    pub differing: Vec<u32>,
    /// The share of transfers that are delayed on both backends or on neither, in per cent.
    pub agreement_percent: f64,
    /// Data segments per transfer, first and second, of a backend that sees them.
    pub segments_per_transfer: [Option<f64>; 2],
    /// The second's over the first's.
    pub segments_ratio: Option<f64>,
}

/// Compares every two backends, cell by cell. The outcomes are those of one plan, with all repetitions kept.
#[must_use]
pub fn compare(outcomes: &[Outcome]) -> Vec<Agreement> {
    let pairs = outcomes
        .iter()
        .enumerate()
        .flat_map(|(at, one)| outcomes[at + 1..].iter().map(move |other| [one, other]));
    let compare = |of: [&Outcome; 2]| {
        let cells = of[0].cells.iter().zip(&of[1].cells);
        let agreements = cells.map(|(one, other)| agreement(of, [one, other]));
        agreements.collect::<Vec<_>>()
    };
    pairs.flat_map(compare).collect()
}

fn agreement(of: [&Outcome; 2], measured: [&Measured; 2]) -> Agreement {
    let delayed = [0, 1].map(|at| delayed(&of[at].yardstick, measured[at]));
    let lengths = measured[0].taken.iter().flat_map(|taken| &taken.samples);
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
    let made = transfers * measured[0].taken.len() / rounds(measured[0]);
    let segments = measured.map(|it| {
        let all: Option<u64> = it.taken.iter().map(|taken| taken.data_segments).sum();
        all.map(|all| all as f64 / made.max(1) as f64)
    });
    let cell = &measured[0].cell;
    Agreement {
        backends: of.map(|it| it.conditions.backend.clone()),
        variant: cell.policy.clone(),
        app_buffer: cell.app_buffer,
        socket_buffer: cell.socket_buffer,
        trial: cell.trial_type,
        transfers,
        differing,
        agreement_percent: 100.0 * alike.count() as f64 / transfers.max(1) as f64,
        delayed: delayed.map(|of| of.into_iter().filter(|delayed| *delayed).count()),
        segments_per_transfer: segments,
        segments_ratio: segments[0].zip(segments[1]).map(|(one, other)| other / one),
    }
}

/// Returns whether each transfer is delayed. If repetitions make the same transfers, a transfer
/// counts as delayed if it is delayed in most of them: a stall due to a rule repeats itself, a
/// stall due to a busy machine does not.
fn delayed(yardstick: &Yardstick, measured: &Measured) -> Vec<bool> {
    let of = |taken: &Taken| -> Vec<bool> {
        let samples = taken.samples.iter();
        samples.map(|sample| yardstick.is_delayed(sample)).collect()
    };
    let repetitions: Vec<_> = measured.taken.iter().map(of).collect();
    if rounds(measured) == repetitions.len() {
        return repetitions.concat();
    }
    let transfers = repetitions.first().map_or(0, Vec::len);
    let times = |at: usize| repetitions.iter().filter(|one| one[at]).count();
    (0..transfers)
        .map(|at| 2 * times(at) > repetitions.len())
        .collect()
}

/// Returns how many repetitions' transfers are judged by themselves: all repetitions if lengths are
/// drawn anew, and one for all if the lengths are the same.
fn rounds(measured: &Measured) -> usize {
    if measured.cell.trial_type.is_random() {
        measured.taken.len().max(1)
    } else {
        1
    }
}
