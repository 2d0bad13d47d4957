//! One trial: what a backend is asked to do, and what it says came of it.

use std::sync::Arc;

use serde::Serialize;
use tinygram_naglemark::parameters::Sample;
use tinygram_report::{Align, Column, Entry, Table};

use super::policy::Policy;
use crate::exit::Failure;

/// A TCP that answers requests.
pub(super) trait Backend {
    /// Under what conditions it is measured.
    fn conditions(&self) -> Conditions;

    /// Makes all transfers of a trial, one after the other, and says so after each.
    fn run(&mut self, trial: &Trial, made: &mut dyn FnMut()) -> Result<Taken, Failure>;
}

/// What is to be done. Sizes are in octets.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) policy: Policy,
    pub(super) app_buffer: u64,
    pub(super) socket_buffer: u64,
    pub(super) lengths: Arc<[u32]>,
    pub(super) requests_per_connection: usize,
    /// Of the simulator's chance.
    pub(super) seed: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    /// In order.
    pub(super) samples: Vec<Sample>,
    /// Of the answers, retransmissions included.
    pub(super) data_segments: u64,
    /// Those below the MSS, where they are counted.
    pub(super) short_segments: Option<u64>,
    /// Retransmissions among the data segments.
    pub(super) retransmitted: u64,
}

/// Under what conditions a backend was measured.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Conditions {
    /// `sim`, `kernel`, `stack`.
    pub(super) backend: &'static str,
    /// What joins the two ends.
    pub(super) link: String,
    /// The TCP in words: a kernel's release, a profile.
    pub(super) stack: String,
    /// Of a connection, in octets, without options.
    pub(super) mss: u16,
    /// The congestion control in force.
    pub(super) congestion: String,
}

/// For the end of a page.
pub(super) fn conditions_table(conditions: &[Conditions]) -> Table {
    let heads = ["Backend", "Link", "Stack", "MSS", "Congestion control"];
    Table {
        title: "Conditions".into(),
        columns: heads
            .map(|head| Column {
                group: String::new(),
                head: head.into(),
                align: Align::Left,
            })
            .into(),
        rows: conditions
            .iter()
            .map(|it| {
                let mss = it.mss.to_string();
                [it.backend, &it.link, &it.stack, &mss, &it.congestion]
                    .map(Entry::new)
                    .into()
            })
            .collect(),
        notes: Vec::new(),
    }
}
