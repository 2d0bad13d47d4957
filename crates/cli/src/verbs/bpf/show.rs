//! The sentences and the JSON document of `bpf`.

use std::fmt::Write;

use serde::Serialize;
use tinygram_host::start;
use tinygram_kernel::{Counts, Run};
use tinygram_report::{Document, json};

use super::plan::{Hold, Of};
use tinygram_report::units::counted;

/// Says who gets the policy from now on.
pub(super) fn held(plan: &Hold, name: &str) -> String {
    let whose = match &plan.of {
        Of::Program(words) => format!("of {}", words[0].to_string_lossy()),
        Of::Group(folder, _) => format!("to come of {}", folder.display()),
    };
    format!(
        "tinygram bpf: connections {whose} have the policy {} on {} (TCP_CONGESTION {name})",
        plan.policy.name, plan.base
    )
}

/// Says what became of the connections.
pub(super) fn ended(counts: Counts) -> String {
    let mut text = format!(
        "tinygram bpf: {} had the policy; {} given back what they had",
        counted(counts.chosen, "connection"),
        counts.given_back
    );
    if counts.holders > 0 {
        let _ = write!(text, "; {} keep it until they close", counts.holders);
    }
    if counts.refused > 0 {
        let _ = write!(text, "; {} could not have it", counts.refused);
    }
    text
}

/// Shows the policies that are in the kernel.
pub(super) fn listed(runs: &[Run], as_json: bool) -> String {
    if as_json {
        return json(&Document {
            schema: "tinygram.bpf/1",
            parameters: NoParameters {},
            results: Results {
                loaded: runs.iter().map(row).collect(),
            },
        });
    }
    let mut text = String::new();
    for run in runs {
        let row = row(run);
        let _ = write!(
            text,
            "{}: {} on {}, by process {}{}; {} it now",
            row.name,
            row.policy,
            row.base,
            row.loader_pid,
            if row.loader_has_ended {
                ", which has ended"
            } else {
                ""
            },
            match row.connections {
                1 => "1 connection has".to_owned(),
                count => format!("{count} connections have"),
            }
        );
        match row.control_groups.as_slice() {
            [] if !row.is_registered => {
                text +=
                    ", and no other gets it (tinygram set TARGET congestion=cubic takes it away)";
            }
            [] => {}
            groups => {
                let _ = write!(
                    text,
                    "; given to connections to come of {}",
                    groups.join(", ")
                );
            }
        }
        text.push('\n');
    }
    match text.is_empty() {
        true => "No send policy is loaded.\n".to_owned(),
        false => text,
    }
}

fn row(run: &Run) -> Row<'_> {
    let began = start::started(run.loader_pid);
    Row {
        name: &run.registered,
        policy: &run.policy,
        base: &run.base,
        loader_pid: run.loader_pid,
        loader_has_ended: began != Some(run.loader_began) || start::has_ended(run.loader_pid),
        is_registered: run.is_registered,
        control_groups: run
            .groups
            .iter()
            .map(|inode| tinygram_host::scope::group_named(*inode))
            .collect(),
        connections: run.counts.holders,
        connections_chosen: run.counts.chosen,
        connections_refused: run.counts.refused,
    }
}

#[derive(Serialize)]
struct NoParameters {}

#[derive(Serialize)]
struct Results<'a> {
    loaded: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    policy: &'a str,
    base: &'a str,
    loader_pid: u32,
    loader_has_ended: bool,
    is_registered: bool,
    /// By their folders; a group that is gone by its number.
    control_groups: Vec<String>,
    connections: u64,
    connections_chosen: u64,
    connections_refused: u64,
}
