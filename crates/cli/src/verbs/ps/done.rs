//! Looks at the connections, and keeps what is to be shown.

use tinygram_host::names::Names;
use tinygram_watch::seen::Seen;

use super::changed;
use super::plan::Plan;
use super::summary::{self, Process};
use super::table::{self, Table};
use crate::outcome::Failure;

/// What was seen at one time.
pub(super) struct Looked {
    /// What is to be shown, in the requested order.
    pub(super) table: Table,
    /// The processes of it, if they are asked for.
    pub(super) processes: Option<Vec<Process>>,
    /// How much was looked at, before anything was left out.
    pub(super) seen: Seen,
}

pub(super) fn look(plan: &Plan, names: &mut Names) -> Result<Looked, Failure> {
    let table = table::gather(plan.target.as_ref(), names);
    let mut table = table.map_err(|error| Failure::Io {
        doing: "asking the kernel for its TCP sockets".into(),
        error,
    })?;
    table.mark(changed::in_force(&plan.journal));
    let seen = table.seen();
    choose(plan, &mut table);
    Ok(Looked {
        processes: plan.summary.then(|| processes(plan, &table)),
        table,
        seen,
    })
}

/// Keeps what is to be shown, in the requested order.
fn choose(plan: &Plan, table: &mut Table) {
    let all = &mut table.connections;
    if plan.trouble {
        all.retain(|connection| connection.verdict.is_some());
    }
    plan.sort
        .order(all, |connection| connection.counts.figures());
    if !plan.summary {
        all.truncate(plan.top);
    }
}

/// Returns the processes to be shown, in the requested order.
fn processes(plan: &Plan, table: &Table) -> Vec<Process> {
    let mut processes = summary::of(table);
    plan.sort.order(&mut processes, Process::figures);
    processes.truncate(plan.top);
    processes
}
