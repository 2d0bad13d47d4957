//! Adds findings up by process, peer, part and kind.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use hdrhistogram::Histogram;
use tinygram_diagnose::{Case, Cost, Kind, Side, Tier};

use crate::finding::{Facts, Finding, Part};
use crate::site::CallSite;
use crate::who::Process;

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
}

/// One row.
pub struct Row {
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
    pub flood: Flood,
    costs_us: Histogram<u32>,
    held: Histogram<u32>,
    behind: Histogram<u32>,
    cookies: Vec<u64>,
    calls: Vec<(Arc<CallSite>, u64)>,
}

/// See [`Row::flood`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Flood {
    /// Data segments.
    pub segments: u64,
    /// Writes.
    pub writes: u64,
    /// How often an answer was read.
    pub turns: u64,
    /// Payload in octets.
    pub bytes: u64,
}

impl Row {
    fn new(case: Case) -> Self {
        // Values are exact within 1 %. The histogram grows with the largest value, to some 7 kB.
        let histogram = || Histogram::new(2).expect("digits that the crate takes");
        Self {
            count: 0,
            possible: 0,
            cost: Cost::default(),
            connections: 0,
            case,
            path_ns: 0,
            flood: Flood::default(),
            costs_us: histogram(),
            held: histogram(),
            behind: histogram(),
            cookies: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// The histograms grow when necessary, so recording does not fail.
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
            if let Some((_, count)) = self.calls.iter_mut().find(|(known, _)| known == call) {
                *count += 1;
            } else if self.calls.len() < MOST_CALLS {
                self.calls.push((Arc::clone(call), 1));
            }
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
                ..
            } => {
                self.flood.segments += segments;
                self.flood.writes += writes.unwrap_or(0);
                self.flood.turns += turns;
                self.flood.bytes += bytes;
            }
        }
        if finding.kind.is_stall() {
            let _ = self
                .costs_us
                .record((finding.cost.time_ns / 1000).max(0) as u64);
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
pub struct Summary {
    rows: BTreeMap<Key, Row>,
    /// How many findings found no free row.
    pub unlisted: u64,
}

impl Summary {
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

const MOST_ROWS: usize = 2_000;
const MOST_COOKIES: usize = 1_000;
const MOST_CALLS: usize = 32;
