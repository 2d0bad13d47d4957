//! The meaning of the arguments: every parameter is checked against the others and filled in,
//! before any work.

mod paper;
mod path;
mod policies;
mod sockets;
mod workload;

use serde::Serialize;
use tinygram_naglemark::hosts::HostsKind;
use tinygram_naglemark::{Plan, TrialType};

pub(super) use paper::{OnPaper, PAPER_REPETITIONS};
pub(super) use sockets::OnSockets;

use super::args::{Args, BackendName, LengthChoice};
use crate::outcome::Failure;

/// One run of the benchmark. It serialises as parameters that all backends have beside the plan.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Meant {
    /// The plan for every backend.
    #[serde(skip)]
    pub(super) plan: Plan,
    pub(super) length_choice: LengthChoice,
    /// The limit of NAGLIM, in bytes; absent if NAGLIM is not measured.
    pub(super) naglim: Option<u32>,
    #[serde(skip)]
    pub(super) on: On,
}

/// The backends of the run.
#[derive(Clone, Debug)]
pub(super) enum On {
    /// The paper's hosts, which can be compared with its tables.
    Paper(OnPaper),
    /// Sockets: the kernel's, our stack's, or those of Linux's hosts in the simulator.
    Sockets(Box<OnSockets>),
}

impl Meant {
    /// Returns the meaning of the arguments, or says which of them contradict each other.
    pub(super) fn from(args: &Args) -> Result<Self, Failure> {
        let on_paper = matches!(args.hosts, None | Some(HostsKind::Paper));
        if on_paper && args.backend == [BackendName::Sim] {
            paper::meant(args)
        } else {
            sockets::meant(args)
        }
    }
}

/// Checks that flags about connections and lengths apply to one of the trial types.
fn check_trials(args: &Args, trial_types: &[TrialType]) -> Result<(), Failure> {
    if args.requests_per_connection.is_some() && !trial_types.iter().any(|it| it.one_connection()) {
        return refused(
            "--requests-per-connection belongs to the trial types S and R; s and r have one request each".into(),
        );
    }
    if args.length_choice.is_some() && !trial_types.contains(&TrialType::RandomOne) {
        return refused("--length-choice belongs to the trial type R, which is not run".into());
    }
    Ok(())
}

/// The backends with the running kernel's sockets as the sender.
const KERNELS: &str = "kernel or bpf";
/// The backends with real packets.
const REAL: &str = "kernel, bpf or stack";

fn refused<T>(line: String) -> Result<T, Failure> {
    Err(Failure::Input(line))
}

/// Returns the given values, or `otherwise` if there are none.
fn or(typed: &[u64], otherwise: &[u64]) -> Vec<u64> {
    distinct(if typed.is_empty() { otherwise } else { typed })
}

/// Keeps the first of equal items, in order.
fn distinct<T: Copy + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(item) {
            kept.push(*item);
        }
    }
    kept
}

/// Returns `--requests-per-connection` as plans have it.
fn requests_per_connection(args: &Args) -> Option<usize> {
    let typed = args.requests_per_connection;
    typed.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests;
