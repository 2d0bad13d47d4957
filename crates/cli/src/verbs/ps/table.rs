//! The connections of this host, from two sources: the owner's descriptor, which alone has the options,
//! and the kernel's list, which has every socket but not its owner.

use std::collections::{BTreeMap, BTreeSet};

use tinygram_host::names::Names;
use tinygram_host::target::Target;
use tinygram_watch::seen::Seen;

use super::changed::Changed;
use super::connection::Connection;
use super::socket::Counts;
use super::{diag, live, verdict};

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
