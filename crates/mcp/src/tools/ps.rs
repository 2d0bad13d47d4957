//! `ps`: TCP connections with their processes, their options, and signs of trouble.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::shared::{Process, Words, target};
use crate::changes::Changes;
use crate::documents::{Changed, Socket, Sockets};
use crate::host::Host;
use crate::refusal::Refusal;
use crate::run::{Call, Keep};
use crate::untrusted::name;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// A process (id or name), a port, a script, a unit, a container, or a control group; everything if there is none.
    target: Option<String>,
    /// Only connections that look like trouble at this instant.
    #[serde(default)]
    trouble: bool,
    /// The next_cursor of an earlier answer: its further connections.
    #[expect(dead_code, reason = "read before the call")]
    cursor: Option<String>,
}

/// The connections at this instant.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Told {
    /// How many connections the target has.
    connections_in_all: u64,
    /// How many processes may not be looked into: their connections show no process and no options.
    processes_not_readable: usize,
    connections: Vec<Row>,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Row {
    local: String,
    remote: String,
    state: String,
    processes: Vec<Process>,
    /// Whether TCP_NODELAY is set, so that Nagle's algorithm is off; null if it may not be read.
    nodelay: Option<bool>,
    cork: Option<bool>,
    /// Whether acknowledgments go at once; false: they may be delayed.
    quickack: Option<bool>,
    mss: u32,
    rtt_ms: f64,
    data_segments_sent: u64,
    bytes_per_segment: Option<f64>,
    /// A sign of trouble: `held-now`, `corked-now`, `looks-like-stall`, `looks-like-flood`. A sign and no proof; null is no
    /// all-clear: watch sees what happens.
    sign: Option<String>,
    /// The policy of `tinygram run` in its process, which gathers small writes; null: it is not under `run`.
    under_run: Option<String>,
    /// What tinygram changed here.
    changed: Vec<Change>,
}

/// A change that is in force.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Change {
    /// Its number in the journal.
    pub(super) change: u64,
    pub(super) option: String,
    pub(super) before: String,
    pub(super) value: String,
}

pub(crate) const NAME: &str = "ps";
pub(crate) const LIST: &str = "connections";
pub(crate) const ABOUT: &str = "Lists this host's TCP connections with their processes and live options (TCP_NODELAY, TCP_CORK, \
    delayed ACKs), and signs of trouble at this instant. Use it to find out what a target is called here, and whether \
    TCP_NODELAY is set. A sign is no proof, and no sign is no all-clear: is_it_nagle and watch see what happens.";

pub(crate) async fn call(
    host: Arc<Host>,
    asked: Asked,
    stop: CancellationToken,
) -> Result<Told, Refusal> {
    let mut options = vec!["--json".into()];
    if asked.trouble {
        options.push("--trouble".into());
    }
    let call = Call {
        verb: "ps",
        options,
        words: asked
            .target
            .as_deref()
            .map(target)
            .transpose()?
            .into_iter()
            .collect(),
        file: None,
        keep: Keep::All,
        instead: "ask for a target",
    };
    let seen: Sockets = host.program.ask(call, &stop).await?;
    Ok(Told {
        connections_in_all: seen.seen.connections,
        processes_not_readable: seen.processes_not_readable.len(),
        connections: seen.connections.iter().map(row).collect(),
        next_cursor: None,
    })
}

/// Returns what tinygram has set on a target's connections and not put back, each change once. Where it may not be read,
/// nothing.
pub(super) async fn in_force(host: &Host, typed: &str, stop: &CancellationToken) -> Vec<Change> {
    let Ok(word) = target(typed) else {
        return Vec::new();
    };
    let mut options = vec!["--json".into()];
    options.extend(host.changes.iter().flat_map(Changes::journal));
    let call = Call {
        verb: "ps",
        options,
        words: vec![word],
        file: None,
        keep: Keep::All,
        instead: "ask for a target",
    };
    let seen: Result<Sockets, Refusal> = host.program.ask(call, stop).await;
    let mut changes: Vec<Change> = Vec::new();
    for one in seen
        .iter()
        .flat_map(|seen| &seen.connections)
        .flat_map(|one| &one.changed)
    {
        let is_known = changes.iter().any(|known| known.change == one.change);
        if !is_known && changes.len() < MOST_CHANGES {
            changes.push(Change::from(one));
        }
    }
    changes
}

impl From<&Changed> for Change {
    fn from(changed: &Changed) -> Self {
        Self {
            change: changed.change,
            option: changed.option.clone(),
            before: changed.before.clone(),
            value: changed.value.clone(),
        }
    }
}

fn row(socket: &Socket) -> Row {
    let counts = &socket.counts;
    let owners = socket.owners.iter().take(MOST_OWNERS).map(|owner| Process {
        pid: Some(owner.pid),
        untrusted: Words {
            name: name(&owner.name),
            script: owner.script.as_deref().map(name),
            user: owner.user.as_deref().map(name),
            container: owner
                .container_name
                .as_deref()
                .or(owner.container.as_deref())
                .map(name),
        },
    });
    let changed = socket.changed.iter().take(MOST_CHANGES).map(Change::from);
    let options = socket.options.as_ref();
    let verdict = socket.verdict.as_ref();
    Row {
        local: socket.local.clone(),
        remote: socket.remote.clone(),
        state: socket.state.clone(),
        processes: owners.collect(),
        nodelay: options.map(|options| options.nodelay),
        cork: options.map(|options| options.cork),
        quickack: options.map(|options| options.quickack),
        mss: counts.mss,
        rtt_ms: f64::from(counts.rtt_us) / 1e3,
        data_segments_sent: counts.data_segments_sent,
        bytes_per_segment: (counts.data_segments_sent > 0)
            .then(|| (counts.bytes_sent as f64 / counts.data_segments_sent as f64).round()),
        sign: verdict
            .and_then(|verdict| verdict["kind"].as_str())
            .map(ToOwned::to_owned),
        under_run: socket
            .owners
            .iter()
            .find_map(|owner| Some(owner.covered.as_ref()?.policy.clone())),
        changed: changed.collect(),
    }
}

const MOST_OWNERS: usize = 4;
const MOST_CHANGES: usize = 4;
