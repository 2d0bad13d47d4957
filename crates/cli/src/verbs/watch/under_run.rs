//! Which of the watched programs `tinygram run` covers already: what they write is gathered, so little is found of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tinygram_host::process::Process;

use super::sentence;
use crate::covered::Covered;

/// The processes that were looked at, and those of them that are covered.
#[derive(Default)]
pub(super) struct UnderRun {
    looked_at: BTreeSet<u32>,
    covered: BTreeMap<u32, (String, Covered)>,
}

/// A process under `tinygram run`.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pid: u32,
    process: String,
    policy: &'static str,
    writes_held: u64,
    #[serde(skip)]
    name: String,
}

impl UnderRun {
    /// Looks whether the process is covered, the first time that it is seen.
    pub(super) fn look_at(&mut self, process: &Process) {
        let is_new =
            process.pid != 0 && self.looked_at.len() < MOST && self.looked_at.insert(process.pid);
        if is_new && let Ok(Some(covered)) = Covered::find(process.pid) {
            self.covered
                .insert(process.pid, (sentence::name(process), covered));
        }
    }

    /// Returns the covered processes that still run, as they are now.
    pub(super) fn rows(&self) -> Vec<Row> {
        let rows = self.covered.iter().filter_map(|(pid, (name, covered))| {
            let state = covered.state().ok()??;
            Some(Row {
                pid: *pid,
                process: name.split('[').next().unwrap_or(name).to_owned(),
                policy: state.policy,
                writes_held: state.writes_held,
                name: name.clone(),
            })
        });
        rows.collect()
    }

    /// Returns the same as a sentence, if there is anything.
    pub(super) fn in_words(&self) -> Option<String> {
        let rows = self.rows();
        let told = rows.iter().take(MOST_TOLD).map(|row| {
            let Row {
                name,
                policy,
                writes_held,
                ..
            } = row;
            format!("{name} ({policy}, {writes_held} writes held)")
        });
        let mut told = told.collect::<Vec<_>>().join(", ");
        let more = rows.len().saturating_sub(MOST_TOLD);
        if more > 0 {
            told += &format!(" and {more} more");
        }
        (!rows.is_empty())
            .then(|| format!("Under tinygram run already, which gathers small writes: {told}."))
    }
}

/// The most processes that are looked at, and that are told of.
const MOST: usize = 10_000;
const MOST_TOLD: usize = 3;
