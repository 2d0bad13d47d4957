//! What those can do to whom the programs belong that hold their small writes: start them anew under `run`, or change them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tinygram_remedy::foresee::Recorded;
use tinygram_remedy::look::{Cause, Look, Stalling};
use tinygram_remedy::remedy::ServiceEnd;
use tinygram_whatif::change::Change;

use super::expected::{self, Ends, Expected, ExpectedRow};

/// A change of the programs.
pub(super) struct OfOwner {
    change: Change,
    /// The programs, each with one of its processes.
    programs: BTreeMap<String, u32>,
    expected: Option<Expected>,
}

/// Returns what the owners of the programs on this host can do that hold by Nagle's rule, the least invasive first.
pub(super) fn of(look: &Look, recorded: &Recorded, seed: u64) -> Vec<OfOwner> {
    let holds = |stalling: &&Stalling| matches!(stalling.cause, Cause::Nagle | Cause::PeerHolds);
    let senders: Vec<&Stalling> = look.stalls.values().filter(holds).collect();
    if senders.is_empty() {
        return Vec::new();
    }
    let services: BTreeSet<ServiceEnd> = senders
        .iter()
        .map(|sender| ServiceEnd::of(sender))
        .collect();
    let programs = senders.iter().map(|sender| {
        let process = &sender.process;
        (process.name.clone(), process.pid)
    });
    let programs: BTreeMap<String, u32> = programs.collect();
    let ends = Ends::of(&services);
    let with = |change: Change| OfOwner {
        expected: expected::of_change(recorded, seed, &change, ends),
        programs: programs.clone(),
        change,
    };
    [Change::Run, Change::Writev].map(with).into()
}

impl OfOwner {
    /// Says what it is, what it needs, what it costs and what is expected of it, in two lines.
    pub(super) fn offered(&self) -> String {
        let names: Vec<&str> = self.programs.keys().map(String::as_str).collect();
        let names = names.join(", ");
        let needs = self.change.needs().words();
        let told = expected::told(self.expected.as_ref());
        match self.change {
            Change::Run => {
                let attach = self.programs.values().next();
                let attach = attach.map_or_else(String::new, |pid| {
                    format!(" (a Go or static program: none, by `tinygram run --attach {pid}`)")
                });
                format!(
                    "  run of {names}: needs {needs}{attach}, no root; small writes wait until the program waits where answers are frequent or take eight writes (--eager: everywhere), else they leave at once\n    {told}\n"
                )
            }
            _ => format!(
                "  {} in {names}: needs {needs}, no root; writes that follow each other become one call; costs no segment\n    {told}\n",
                self.change
            ),
        }
    }
}

/// The same in JSON.
#[derive(Serialize)]
pub(super) struct OfOwnerRow {
    change: String,
    needs: &'static str,
    programs: Vec<String>,
    expected: Option<ExpectedRow>,
}

impl From<&OfOwner> for OfOwnerRow {
    fn from(of: &OfOwner) -> Self {
        Self {
            change: of.change.to_string(),
            needs: of.change.needs().words(),
            programs: of.programs.keys().cloned().collect(),
            expected: of.expected.as_ref().map(ExpectedRow::from),
        }
    }
}
