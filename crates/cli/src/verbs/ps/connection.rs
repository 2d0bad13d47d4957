//! A connection as it is shown, and its two sources: the owner's descriptor, which alone has the
//! options, and the kernel's list, which has every socket but not its owner.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use tinygram_host::names::Names;
use tinygram_host::process::Process;
use tinygram_host::target::Target;
use tinygram_watch::seen::Seen;

use super::changed::Changed;
use super::order::Figures;
use super::verdict::{self, Verdict};
use super::{diag, live};
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
    fn is_of(&self, target: &Target) -> bool {
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

/// What the program, or the system, set on the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Options {
    pub(crate) nodelay: bool,
    pub(crate) cork: bool,
    /// Whether the receiver acknowledges at once; false means "pingpong" mode, in which it waits
    /// for data to carry the acknowledgment.
    pub(crate) quickack: bool,
    /// The longest an acknowledgment is delayed (`TCP_DELACK_MAX_US`, Linux 6.15).
    pub(crate) delayed_ack_max_us: Option<u32>,
    /// The least retransmission timeout, which also bounds a cork (`TCP_RTO_MIN_US`, Linux 6.15).
    pub(crate) rto_min_us: Option<u32>,
    pub(crate) send_buffer: u32,
    pub(crate) receive_buffer: u32,
}

/// What the kernel counted (`struct tcp_info`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) mss: u32,
    pub(crate) rtt_us: u32,
    pub(crate) min_rtt_us: u32,
    /// The present length of the delayed-acknowledgment timer.
    pub(crate) ack_timeout_us: u32,
    pub(crate) congestion_window: u32,
    pub(crate) data_segments_sent: u32,
    pub(crate) data_segments_received: u32,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) segments_unacknowledged: u32,
    pub(crate) bytes_not_sent: u32,
    /// The time with data on its way.
    pub(crate) busy_us: u64,
}

impl Counts {
    /// Returns the payload per data segment; `None` if none was sent.
    pub(crate) fn bytes_per_segment(&self) -> Option<f64> {
        self.figures().bytes_per_segment()
    }

    /// Returns the figures by which connections are sorted.
    pub(super) fn figures(&self) -> Figures {
        Figures {
            segments: self.data_segments_sent.into(),
            bytes: self.bytes_sent,
            rtt_us: self.rtt_us.into(),
        }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Every field is named, so that a new field that is forgotten here does not compile.
        let Self {
            mss,
            rtt_us,
            min_rtt_us,
            ack_timeout_us,
            congestion_window,
            data_segments_sent,
            data_segments_received,
            bytes_sent,
            bytes_received,
            segments_unacknowledged,
            bytes_not_sent,
            busy_us,
        } = self;
        let mut fields = serializer.serialize_struct("Counts", 13)?;
        fields.serialize_field("mss", mss)?;
        fields.serialize_field("rtt_us", rtt_us)?;
        fields.serialize_field("min_rtt_us", min_rtt_us)?;
        fields.serialize_field("ack_timeout_us", ack_timeout_us)?;
        fields.serialize_field("congestion_window", congestion_window)?;
        fields.serialize_field("data_segments_sent", data_segments_sent)?;
        fields.serialize_field("data_segments_received", data_segments_received)?;
        fields.serialize_field("bytes_sent", bytes_sent)?;
        fields.serialize_field("bytes_received", bytes_received)?;
        fields.serialize_field("bytes_per_segment", &self.bytes_per_segment())?;
        fields.serialize_field("segments_unacknowledged", segments_unacknowledged)?;
        fields.serialize_field("bytes_not_sent", bytes_not_sent)?;
        fields.serialize_field("busy_us", busy_us)?;
        fields.end()
    }
}

/// The connections that were found, and the processes that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) connections: Vec<Connection>,
    /// The processes whose descriptors may not be listed or copied.
    pub(crate) hidden_processes: BTreeSet<i32>,
}

impl Table {
    /// Marks the connections that `set` or `cure` changed.
    pub(super) fn mark(&mut self, mut changed: BTreeMap<u64, Vec<Changed>>) {
        for connection in &mut self.connections {
            let cookie = connection.cookie;
            connection.changed = cookie
                .and_then(|cookie| changed.remove(&cookie))
                .unwrap_or_default();
        }
    }

    /// Returns how much is in it: every data segment since the connections began. Nobody counts writes.
    pub(super) fn seen(&self) -> Seen {
        let segments = |counts: &Counts| {
            u64::from(counts.data_segments_sent) + u64::from(counts.data_segments_received)
        };
        Seen {
            connections: self.connections.len() as u64,
            writes: None,
            segments: self.connections.iter().map(|c| segments(&c.counts)).sum(),
            timed: 0,
        }
    }
}

/// Returns all connections, or those of `target`.
pub(crate) fn gather(target: Option<&Target>, names: &mut Names) -> std::io::Result<Table> {
    let mut table = Table::default();
    // By inode: a socket that several processes have open is one connection.
    let mut found: BTreeMap<u64, Connection> = BTreeMap::new();
    live::each_socket(names, &mut table.hidden_processes, |inode, owner, read| {
        if let Some(known) = found.get_mut(&inode) {
            known.owners.push(owner);
        } else if let Some(mut connection) = read() {
            connection.owners.push(owner);
            found.insert(inode, connection);
        }
    });
    // Connections without a readable descriptor: other users' connections, and those whose process
    // has ended.
    for (inode, connection) in diag::connections()? {
        found.entry(inode).or_insert(connection);
    }
    table.connections = found
        .into_values()
        .filter(|connection| target.is_none_or(|target| connection.is_of(target)))
        .collect();
    for connection in &mut table.connections {
        connection.verdict = verdict::judge(connection.options.as_ref(), &connection.counts);
    }
    table.connections.sort_by_key(|c| {
        (
            c.owners.first().map_or(i32::MAX, |owner| owner.pid),
            c.local,
            c.remote,
        )
    });
    Ok(table)
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
