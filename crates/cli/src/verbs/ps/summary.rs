//! A line per process: the sums of its connections, and whether it is covered.

use std::collections::BTreeMap;

use serde::Serialize;
use tinygram_report::Columns;

use super::connection::Owner;
use super::order::Figures;
use super::table::Table;
use super::text;
use crate::covered::State;

/// A process, or all connections whose process may not be seen.
#[derive(Debug, Default, Serialize)]
pub(super) struct Process {
    pid: Option<i32>,
    name: Option<String>,
    script: Option<String>,
    user: Option<String>,
    container: Option<String>,
    container_name: Option<String>,
    pod: Option<String>,
    namespace: Option<String>,
    network_namespace: Option<u64>,
    covered: Option<State>,
    connections: u64,
    /// Connections that show signs of trouble.
    connections_in_trouble: u64,
    data_segments_sent: u64,
    bytes_sent: u64,
    /// The round trip of its slowest connection.
    longest_rtt_us: u64,
    #[serde(skip)]
    place: String,
}

/// Returns the processes of `table`, those with the most connections first. A connection that
/// several processes have open counts for the first of them.
pub(super) fn of(table: &Table) -> Vec<Process> {
    let mut processes = BTreeMap::<Option<i32>, Process>::new();
    for connection in &table.connections {
        let owner = connection.owners.first();
        let process = processes
            .entry(owner.map(|owner| owner.pid))
            .or_insert_with(|| owner.map_or_else(Process::default, Process::new));
        let figures = connection.counts.figures();
        process.connections += 1;
        process.connections_in_trouble += u64::from(connection.verdict.is_some());
        process.data_segments_sent += figures.segments;
        process.bytes_sent += figures.bytes;
        process.longest_rtt_us = process.longest_rtt_us.max(figures.rtt_us);
    }
    let mut all: Vec<_> = processes.into_values().collect();
    all.sort_by_key(|process| std::cmp::Reverse(process.connections));
    all
}

impl Process {
    fn new(owner: &Owner) -> Self {
        Self {
            pid: Some(owner.pid),
            name: Some(owner.name.clone()),
            script: owner.script.clone(),
            user: owner.user.clone(),
            container: owner.container.clone(),
            container_name: owner.container_name.clone(),
            pod: owner.pod.clone(),
            namespace: owner.namespace.clone(),
            network_namespace: owner.network_namespace,
            covered: owner.covered.clone(),
            place: text::place(owner),
            ..Self::default()
        }
    }

    /// Returns the figures by which processes are sorted.
    pub(super) fn figures(&self) -> Figures {
        Figures {
            segments: self.data_segments_sent,
            bytes: self.bytes_sent,
            rtt_us: self.longest_rtt_us,
        }
    }
}

/// Returns a table for people; an empty text if there is no connection.
pub(super) fn text(processes: &[Process], width: usize) -> String {
    if processes.is_empty() {
        return String::new();
    }
    let unknown = || "?".to_owned();
    let rows: Vec<_> = processes
        .iter()
        .map(|process| {
            [
                process.pid.map_or_else(unknown, |pid| pid.to_string()),
                process.name.clone().unwrap_or_else(unknown) + &process.place,
                process.user.clone().unwrap_or_else(unknown),
                process.connections.to_string(),
                process.connections_in_trouble.to_string(),
                process.data_segments_sent.to_string(),
                (process.figures().bytes_per_segment())
                    .map_or_else(|| "-".to_owned(), |size| format!("{size:.0}")),
                format!("{:.2}", process.longest_rtt_us as f64 / 1e3),
                text::run(process.covered.as_ref()),
            ]
        })
        .collect();
    COLUMNS.lines(&rows, width).join("\n") + "\n"
}

const COLUMNS: Columns<9> = Columns {
    headings: [
        "PID",
        "PROCESS",
        "USER",
        "CONNECTIONS",
        "TROUBLE",
        "SEGMENTS",
        "B/SEG",
        "RTT ms",
        "RUN",
    ],
    left: [false, true, true, false, false, false, false, false, true],
};
