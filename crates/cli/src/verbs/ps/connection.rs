//! A connection as it is shown.

use std::net::SocketAddr;

use serde::Serialize;
use tinygram_host::process::Process;
use tinygram_host::target::Target;

use super::changed::Changed;
use super::socket::{Counts, Options};
use super::verdict::Verdict;
use crate::covered::State;

/// One TCP connection.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Connection {
    /// The processes that hold it open; empty if they may not be seen.
    pub(crate) owners: Vec<Owner>,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: &'static str,
    /// The options; unknown if the owner's descriptor could not be copied.
    pub(crate) options: Option<Options>,
    pub(crate) counts: Counts,
    pub(crate) verdict: Option<Verdict>,
    /// What `tinygram set` or `cure` changed on it, and has not put back.
    pub(crate) changed: Vec<Changed>,
    /// The kernel's number for the socket.
    #[serde(skip)]
    pub(crate) cookie: Option<u64>,
}

impl Connection {
    /// Returns whether a target means it.
    pub(super) fn is_of(&self, target: &Target) -> bool {
        let ends = [self.local, self.remote];
        // Where the process of a connection runs is not known if the process is not.
        let by_port = !matches!(target, Target::Within(..)) && target.is_port_of(ends).is_some();
        let is_met = |owner: &Owner| target.is_met_by(&owner.process, &owner.name, ends);
        by_port || self.owners.iter().any(is_met)
    }

    /// Returns what the library shows in the first of its processes that `tinygram run` covers.
    pub(super) fn covered(&self) -> Option<&State> {
        self.owners.iter().find_map(|owner| owner.covered.as_ref())
    }
}

/// A process with the connection open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Owner {
    pub(crate) pid: i32,
    pub(crate) name: String,
    /// The script or class that it runs, if it is an interpreter.
    pub(crate) script: Option<String>,
    pub(crate) fd: i32,
    /// The process's effective user.
    pub(crate) user: Option<String>,
    /// The ID of its container, according to its control group.
    pub(crate) container: Option<String>,
    /// The name of its container, if it is known.
    pub(crate) container_name: Option<String>,
    /// Its pod's name, likewise.
    pub(crate) pod: Option<String>,
    /// Its pod's namespace in Kubernetes, likewise.
    pub(crate) namespace: Option<String>,
    /// The inode of its network namespace, if it is not ours.
    pub(crate) network_namespace: Option<u64>,
    /// What the library in it shows, if `tinygram run` covers it.
    pub(crate) covered: Option<State>,
    /// The process, as targets know it.
    #[serde(skip)]
    pub(crate) process: Process,
}

/// Returns the name of a state, by the kernel's number; `None` if no connection exists in it, such
/// as listening.
pub(crate) fn state_name(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "established",
        2 => "syn-sent",
        3 => "syn-received",
        4 => "fin-wait-1",
        5 => "fin-wait-2",
        8 => "close-wait",
        9 => "last-ack",
        11 => "closing",
        _ => return None,
    })
}
