//! The papers' own experiments on this kernel's sockets, under their policies as BPF: measured here, today.
//!
//! The hosts, the clocks and the links are not the papers', so that their numbers stand beside ours and hold nothing to
//! them. What does not depend on hosts can be compared: who stalls, and how many packets leave.

mod davids;
mod doupnik;
mod heidemann;
mod moldeklev;

use std::time::Duration;

use tinygram_kernel::BpfPolicy;
use tinygram_link::emulator::Rules;
use tinygram_naglemark_live::{Heard, Talk, TwoHosts};
use tinygram_papers::Standard;
use tinygram_papers::experiment::{Class, Layout, Origin, Outcome, Parameter, Row};
use tinygram_papers::value::{PaperValue, Tolerance};

use crate::outcome::Failure;

pub(super) use davids::run as davids;
pub(super) use doupnik::run as doupnik;
pub(super) use heidemann::run as heidemann;
pub(super) use moldeklev::run as moldeklev;

/// Returns whether this system can be asked at all; whether this user may is in the rows.
pub(super) fn check() -> Result<(), Failure> {
    Ok(())
}

/// A gap that counts as a stall. No program of these takes as long for anything, and Linux delays no acknowledgment for
/// less than 40 ms.
const SILENCE: Duration = Duration::from_millis(25);
/// In octets.
const ETHERNET_MTU: u16 = 1500;

/// Where an experiment is measured.
struct Here {
    hosts: Result<TwoHosts, String>,
    rows: Vec<Row>,
}

impl Here {
    /// Makes a link with this rate in bits per second, and this delay one way.
    fn over(rate: Option<u64>, delay: Duration, mtu: u16, seed: u64) -> Self {
        let rules = Rules {
            rate,
            delay,
            ..Rules::NONE
        };
        Self {
            hosts: TwoHosts::open(rules, mtu, seed),
            rows: Vec::new(),
        }
    }

    fn talk(&self, talk: &Talk) -> Result<Vec<Heard>, String> {
        self.hosts.as_ref().map_err(Clone::clone)?.talk(talk)
    }

    /// Adds a row; what could not be measured says why.
    fn row(
        &mut self,
        cell: Vec<(&'static str, PaperValue)>,
        standard: Option<Standard>,
        measured: Result<PaperValue, String>,
    ) {
        let reproduced =
            measured.unwrap_or_else(|why| PaperValue::Text(format!("not measured: {why}")));
        self.rows.push(Row {
            cell,
            standard,
            reproduced,
            tolerance: Tolerance::Unbounded,
            class: Class::MeasuredHere,
        });
    }

    /// Adds a row for what this kernel cannot be made to do.
    fn cannot(
        &mut self,
        cell: Vec<(&'static str, PaperValue)>,
        standard: Option<Standard>,
        why: &str,
    ) {
        self.row(
            cell,
            standard,
            Ok(PaperValue::Text(format!("cannot be had: {why}"))),
        );
    }

    fn outcome(self, parameters: Vec<Parameter>, notes: Vec<String>) -> Outcome {
        Outcome {
            rules: vec![
                "The policy is the engine's rule as BPF on this kernel's own sockets, over two network namespaces and an emulated \
                 link. Congestion window, receiver and clocks are Linux's.",
            ],
            parameters,
            rows: self.rows,
            layout: Layout::List,
            notes,
            ..Outcome::default()
        }
    }
}

/// Returns the policy with this name as BPF.
fn in_kernel(name: &str) -> &'static BpfPolicy {
    BpfPolicy::named(name).expect("a policy that there is as BPF")
}

fn text(text: impl Into<String>) -> PaperValue {
    PaperValue::Text(text.into())
}

/// Returns a parameter that is ours and not the paper's.
fn ours(name: &'static str, value: impl Into<String>, why: &'static str) -> Parameter {
    Parameter {
        name,
        value: value.into(),
        origin: Origin::Assumed(why),
    }
}

/// Returns the mean of some times in ms.
fn mean_ms(times: &[Duration]) -> f64 {
    times.iter().map(Duration::as_secs_f64).sum::<f64>() * 1000.0 / times.len() as f64
}
