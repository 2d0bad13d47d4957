//! Adds findings up by process, peer, part and kind.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use tinygram_stalls::{Case, Cost, Kind, Side, Tier};

use crate::finding::{Facts, Finding, Part};
use crate::site::CallSite;
use tinygram_host::pace::Pace;
use tinygram_host::process::Process;

/// The key of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The process at this host's end.
    pub process: Process,
    /// The peer's address.
    pub peer: IpAddr,
    /// The server's port.
    pub port: u16,
    /// The side that the process is.
    pub side: Side,
    /// Its part.
    pub part: Part,
    /// What was found.
    pub kind: Kind,
    /// Its network namespace, by the inode.
    pub netns: u32,
    /// The most frequent call site, in a row of several processes.
    pub site: Option<String>,
}

/// One row.
pub struct Row {
    /// How many processes. If there are several, they have ended, and the key's process has the ID 0.
    pub processes: u64,
    /// How often.
    pub count: u64,
    /// How many of these may have cost nobody anything.
    pub possible: u64,
    /// Their total cost.
    pub cost: Cost,
    /// How many connections had one; counted up to a limit.
    pub connections: u64,
    /// The last case, on which the advice depends.
    pub case: Case,
    /// The part of the cost that the path takes in any case, in nanoseconds.
    pub path_ns: i64,
    /// The counts of a flood.
    pub flood: FloodSum,
    costs_us: Histogram<u32>,
    held: Histogram<u32>,
    behind: Histogram<u32>,
    cookies: Vec<u64>,
    calls: Vec<(Arc<CallSite>, u64)>,
}

/// See [`Row::flood`].
#[derive(Clone, Copy, Debug, Default)]
pub struct FloodSum {
    /// Data segments.
    pub segments: u64,
    /// Writes.
    pub writes: u64,
    /// How often an answer was read.
    pub turns: u64,
    /// Payload in octets.
    pub bytes: u64,
    /// Segments before the first that was looked at: many if it was found by samples.
    pub unseen: u64,
}

impl Row {
    fn new(case: Case) -> Self {
        // Values are exact within 1 %. The histogram grows with the largest value, to some 7 kB.
        let histogram = || Histogram::new(2).expect("digits that the crate takes");
        Self {
            processes: 1,
            count: 0,
            possible: 0,
            cost: Cost::default(),
            connections: 0,
            case,
            path_ns: 0,
            flood: FloodSum::default(),
            costs_us: histogram(),
            held: histogram(),
            behind: histogram(),
            cookies: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Records a value. The histograms grow when necessary, so this does not fail.
    fn add(&mut self, finding: &Finding) {
        if finding.tier == Tier::Possible {
            self.possible += 1;
            return;
        }
        self.count += 1;
        self.cost += finding.cost;
        self.case = finding.case();
        let cookie = finding.connection.cookie;
        if self.cookies.len() < MOST_COOKIES && !self.cookies.contains(&cookie) {
            self.cookies.push(cookie);
            self.connections += 1;
        }
        if let Some(call) = &finding.call {
            self.add_call(call, 1);
        }
        match &finding.facts {
            Facts::Held {
                held,
                behind,
                path_ns,
                ..
            } => {
                self.path_ns += path_ns.unwrap_or(0).min(finding.cost.time_ns);
                let _ = self.held.record(u64::from(*held));
                let _ = self.behind.record(u64::from(*behind));
            }
            Facts::LateAck { length, before } => {
                let _ = self.held.record(u64::from(*length));
                let _ = self.behind.record(u64::from(*before));
            }
            Facts::Flood {
                segments,
                writes,
                turns,
                bytes,
                unseen,
                ..
            } => {
                self.flood.segments += segments;
                self.flood.writes += writes.unwrap_or(0);
                self.flood.turns += turns;
                self.flood.bytes += bytes;
                self.flood.unseen = self.flood.unseen.max(*unseen);
            }
        }
        if finding.kind.is_stall() {
            let _ = self
                .costs_us
                .record((finding.cost.time_ns / 1000).max(0) as u64);
        }
    }

    /// Adds the row of another process.
    fn absorb(&mut self, other: &Self) {
        self.processes += other.processes;
        self.count += other.count;
        self.possible += other.possible;
        self.cost += other.cost;
        self.connections += other.connections;
        self.path_ns += other.path_ns;
        self.flood.segments += other.flood.segments;
        self.flood.writes += other.flood.writes;
        self.flood.turns += other.flood.turns;
        self.flood.bytes += other.flood.bytes;
        self.flood.unseen = self.flood.unseen.max(other.flood.unseen);
        // Histograms that grow take every value.
        let _ = self.costs_us.add(&other.costs_us);
        let _ = self.held.add(&other.held);
        let _ = self.behind.add(&other.behind);
        for (call, count) in &other.calls {
            self.add_call(call, *count);
        }
    }

    fn add_call(&mut self, call: &Arc<CallSite>, count: u64) {
        let same = |known: &CallSite| match (known.line, call.line) {
            (Some(_), None) | (None, Some(_)) => known.is_at(call),
            _ => known == &**call,
        };
        if let Some((known, times)) = self.calls.iter_mut().find(|(known, _)| same(known)) {
            *times += count;
            if known.line.is_none() {
                *known = Arc::clone(call);
            }
        } else if self.calls.len() < MOST_CALLS {
            self.calls.push((Arc::clone(call), count));
        }
    }

    /// Returns the cost that `share` (0 to 1) of the stalls do not exceed, in nanoseconds.
    #[must_use]
    pub fn cost_at(&self, share: f64) -> i64 {
        self.costs_us.value_at_quantile(share) as i64 * 1000
    }

    /// Returns the known call sites of held writes, and how often each was seen, the most frequent
    /// first.
    #[must_use]
    pub fn calls(&self) -> Vec<(&CallSite, u64)> {
        let mut calls: Vec<_> = self
            .calls
            .iter()
            .map(|(call, count)| (&**call, *count))
            .collect();
        calls.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        calls
    }

    /// Returns the median of the held octets, and the median of the octets that they waited behind.
    #[must_use]
    pub fn octets(&self) -> (u64, u64) {
        // Sizes are often round numbers, and the lower bound of a histogram step is rounder than
        // its upper bound.
        let median =
            |octets: &Histogram<u32>| octets.lowest_equivalent(octets.value_at_quantile(0.5));
        (median(&self.held), median(&self.behind))
    }
}

/// All rows.
#[derive(Default)]
pub struct WatchSummary {
    rows: BTreeMap<Key, Row>,
    /// How many findings found no free row.
    pub unlisted: u64,
    pace: Pace,
}

impl WatchSummary {
    /// Adds a finding of `process`.
    pub fn add(&mut self, finding: &Finding, process: &Process) {
        let side = finding.side;
        let (local, remote) = (finding.connection.local, finding.connection.remote);
        let key = Key {
            process: process.clone(),
            peer: remote.ip(),
            port: match side {
                Side::Server => local.port(),
                Side::Client => remote.port(),
            },
            side,
            part: finding.part,
            kind: finding.kind,
            netns: finding.connection.netns,
            site: None,
        };
        if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
            self.unlisted += 1;
            return;
        }
        self.rows
            .entry(key)
            .or_insert_with(|| Row::new(finding.case()))
            .add(finding);
    }

    /// Folds now and then: it takes a look at each process.
    pub fn fold_in_time(&mut self, has_ended: impl Fn(&Process) -> bool) {
        let mut pace = std::mem::take(&mut self.pace);
        pace.look(BREAK, || self.fold(has_ended));
        self.pace = pace;
    }

    /// Folds the rows of processes that have ended: those of one program that differ in the process alone, and whose
    /// most frequent call site is the same, become one row. A row of a single process stays.
    pub fn fold(&mut self, has_ended: impl Fn(&Process) -> bool) {
        let mut groups: BTreeMap<Key, Vec<Key>> = BTreeMap::new();
        for (key, row) in &self.rows {
            if key.process.pid != 0 && has_ended(&key.process) {
                let mut folded = key.clone();
                folded.process.pid = 0;
                folded.site = row.calls().first().map(|(call, _)| call.to_string());
                groups.entry(folded).or_default().push(key.clone());
            }
        }
        for (folded, keys) in groups {
            let known = self.rows.remove(&folded);
            if known.is_none() && keys.len() < 2 {
                continue;
            }
            let rows = keys.iter().filter_map(|key| self.rows.remove(key));
            let all = known.into_iter().chain(rows).reduce(|mut all, row| {
                all.absorb(&row);
                all
            });
            self.rows.extend(all.map(|all| (folded, all)));
        }
    }

    /// Returns the rows that blame somebody, the most expensive first.
    #[must_use]
    pub fn rows(&self) -> Vec<(&Key, &Row)> {
        let mut rows: Vec<_> = self.rows.iter().filter(|(_, row)| row.count > 0).collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse((row.cost.time_ns, row.cost.segments)));
        rows
    }

    /// Returns how many findings blame nobody because the evidence is not sufficient.
    #[must_use]
    pub fn possible(&self) -> u64 {
        self.rows.values().map(|row| row.possible).sum()
    }
}

/// Between two foldings.
const BREAK: Duration = Duration::from_secs(1);
const MOST_ROWS: usize = 2_000;
const MOST_COOKIES: usize = 1_000;
const MOST_CALLS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Connection, Reason, Release, Timer, Writer};

    /// A stall of 40 ms of a client of port 80 in process `pid`, written by `function`.
    fn stall(pid: u32, function: &str) -> (Finding, Process) {
        let process = Process {
            pid,
            name: "client".into(),
            script: None,
            user: "root".into(),
            container: None,
            cgroup: None,
        };
        let finding = Finding {
            kind: Kind::WriteWriteRead,
            tier: Tier::Certain,
            part: Part::Sent,
            connection: Connection {
                cookie: pid.into(),
                netns: 1,
                local: ([127, 0, 0, 1], 50_000).into(),
                remote: ([127, 0, 0, 1], 80).into(),
                mss: 1448,
                srtt_ns: 0,
                min_rtt_ns: None,
                accepted: None,
            },
            side: Side::Client,
            process: Writer {
                pid,
                thread: pid,
                uid: 0,
                cgroup: 0,
                comm: "client".into(),
            },
            start_ns: 0,
            cost: Cost::time(40_000_000),
            facts: Facts::Held {
                held: 200,
                behind: 100,
                writes: Some(1),
                reason: Reason::Nagle,
                release: Release::Ack,
                path_ns: None,
                slept: false,
                timer: Timer::Unknown,
            },
            call: Some(Arc::new(CallSite {
                function: function.into(),
                file: None,
                line: None,
                stack: Vec::new(),
                unresolved: None,
            })),
        };
        (finding, process)
    }

    #[test]
    fn rows_of_processes_that_ended_fold_by_name_and_site() {
        let mut summary = WatchSummary::default();
        let mut add = |pid, function| {
            let (finding, process) = stall(pid, function);
            summary.add(&finding, &process);
        };
        for pid in 1..=25 {
            add(pid, "ask");
        }
        add(30, "other");
        add(31, "ask");
        // Process 31 still runs.
        let ended = |process: &Process| process.pid <= 30;
        summary.fold(ended);
        let shape = |summary: &WatchSummary| -> Vec<_> {
            let rows = summary.rows().into_iter();
            let mut rows: Vec<_> = rows
                .map(|(key, row)| (row.processes, row.count, key.process.pid))
                .collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(shape(&summary), [(1, 1, 30), (1, 1, 31), (25, 25, 0)]);
        let rows = summary.rows();
        assert_eq!(rows[0].1.cost.time_ns, 25 * 40_000_000);
        assert_eq!(rows[0].1.calls().len(), 1);
        // Later ones join the row.
        for pid in 40..=42 {
            let (finding, process) = stall(pid, "ask");
            summary.add(&finding, &process);
        }
        summary.fold(|_| true);
        assert_eq!(shape(&summary), [(1, 1, 30), (29, 29, 0)]);
    }
}
