//! What floods: whose it is, and what of it is this program's own doing.

use std::collections::BTreeMap;

use serde::Serialize;

use super::done::Cured;
use super::plan::Plan;
use crate::covered::Covered;
use crate::verbs::ps::changed::{self, Changed};

/// What is known of the sockets that flood.
#[derive(Debug, Default, Serialize)]
pub(super) struct Floods {
    /// The changes of `set` and `cure` that are in force on them: what they take off may be what held small writes together.
    changes: Vec<Changed>,
    /// Their processes that are under `run` already.
    under_run: Vec<UnderRun>,
}

#[derive(Debug, Serialize)]
struct UnderRun {
    pid: u32,
    name: String,
    policy: &'static str,
}

impl Floods {
    pub(super) fn of(plan: &Plan, cured: &Cured) -> Self {
        let flooding = &cured.look.flooding;
        if flooding.is_empty() {
            return Self::default();
        }
        let mut in_force = changed::in_force(&plan.journal);
        let of_each = flooding.keys().filter_map(|cookie| in_force.remove(cookie));
        let by_number: BTreeMap<u64, Changed> = of_each
            .flatten()
            .map(|changed| (changed.change, changed))
            .collect();
        let processes: BTreeMap<u32, &str> = flooding
            .values()
            .map(|process| (process.pid, process.name.as_str()))
            .collect();
        let covered = processes.into_iter().filter_map(|(pid, name)| {
            let state = Covered::find(pid).ok()??.state().ok()??;
            Some(UnderRun {
                pid,
                name: name.to_owned(),
                policy: state.policy,
            })
        });
        Self {
            changes: by_number.into_values().collect(),
            under_run: covered.collect(),
        }
    }

    /// Says so, in a line each.
    pub(super) fn in_words(&self) -> String {
        let changes = self.changes.iter().map(|changed| {
            format!(
                "  on sockets that flood our change {} is in force: {}\n",
                changed.change,
                changed.explain()
            )
        });
        let covered = self.under_run.iter().map(|one| {
            format!(
                "  {}[{}] is under `tinygram run` already ({}): a start anew with --eager holds also where answers are rare\n",
                one.name, one.pid, one.policy
            )
        });
        changes.chain(covered).collect()
    }
}
