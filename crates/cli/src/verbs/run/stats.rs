//! `--stats`: the page that every process of the run counts in, and how it is shown.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use std::os::unix::process::ExitStatusExt;

use memmap2::{MmapMut, MmapOptions};
use serde::Serialize;
use tempfile::NamedTempFile;
use tinygram_preload::page::{Cause, Page};
use tinygram_preload::settings::{Settings, unmapped};

use crate::exit::Failure;

/// The page as a file while the program runs.
pub(crate) struct Counted {
    file: NamedTempFile,
    map: MmapMut,
}

impl Counted {
    pub(crate) fn create() -> Result<Self, Failure> {
        let make = || {
            let file = NamedTempFile::with_prefix("tinygram-run-")?;
            file.as_file().set_len(size_of::<Page>() as u64)?;
            // SAFETY: a file of our own; whoever else maps it uses atomics alone, as we do.
            let map = unsafe {
                MmapOptions::new()
                    .len(size_of::<Page>())
                    .map_mut(file.as_file())?
            };
            Ok(Self { file, map })
        };
        make().map_err(|error| Failure::Io {
            doing: "making the statistics file".into(),
            error,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> Counts {
        // SAFETY: a mapping is aligned to pages and as long as a `Page`, of which any content is valid.
        let page = unsafe { &*self.map.as_ptr().cast::<Page>() };
        let get = |count: &AtomicU64| count.load(Relaxed);
        let mut counts = Counts {
            processes: get(&page.processes),
            unlisted_connections: get(&page.unlisted),
            peers: Vec::new(),
        };
        for (peer, row) in page.in_use() {
            let fresh = Peer {
                remote: unmapped(peer.address).to_string(),
                service_port: peer.port,
                accepted: peer.accepted,
                connections: get(&row.connections),
                connections_ended_unseen: get(&row.connections).saturating_sub(get(&row.settled)),
                writes: get(&row.writes),
                bytes: get(&row.bytes),
                writes_held: get(&row.held),
                writes_merged: get(&row.merged),
                segments_sent: get(&row.segments),
                flushes: Cause::ALL
                    .iter()
                    .map(|(cause, name)| (*name, get(&row.flushes[*cause as usize])))
                    .collect(),
                longest_hold_us: get(&row.longest_hold_ns) as f64 / 1e3,
                watchdog_rescues: get(&row.flushes[Cause::Watchdog as usize]),
            };
            // Two threads may have opened an account for one peer in the same instant.
            let known = counts.peers.iter_mut().find(|known| {
                (&known.remote, known.service_port, known.accepted)
                    == (&fresh.remote, fresh.service_port, fresh.accepted)
            });
            match known {
                Some(known) => known.add(&fresh),
                None => counts.peers.push(fresh),
            }
        }
        counts.peers.sort_by(|a, b| {
            b.writes
                .cmp(&a.writes)
                .then_with(|| a.remote.cmp(&b.remote))
        });
        counts
    }
}

/// Everything counted in one run.
#[derive(Debug, Serialize)]
pub(crate) struct Counts {
    /// Processes the library was loaded into.
    processes: u64,
    /// Connections to more addresses than the page has rows.
    unlisted_connections: u64,
    peers: Vec<Peer>,
}

#[derive(Debug, Serialize)]
struct Peer {
    remote: String,
    service_port: u16,
    accepted: bool,
    connections: u64,
    connections_ended_unseen: u64,
    writes: u64,
    bytes: u64,
    writes_held: u64,
    writes_merged: u64,
    segments_sent: u64,
    flushes: BTreeMap<&'static str, u64>,
    longest_hold_us: f64,
    watchdog_rescues: u64,
}

impl Peer {
    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.connections_ended_unseen += other.connections_ended_unseen;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.writes_held += other.writes_held;
        self.writes_merged += other.writes_merged;
        self.segments_sent += other.segments_sent;
        for (cause, count) in &other.flushes {
            *self.flushes.entry(cause).or_default() += count;
        }
        self.longest_hold_us = self.longest_hold_us.max(other.longest_hold_us);
        self.watchdog_rescues += other.watchdog_rescues;
    }

    fn name(&self) -> String {
        let remote = if self.remote.contains(':') {
            format!("[{}]", self.remote)
        } else {
            self.remote.clone()
        };
        if self.accepted {
            format!("{remote} to our port {}", self.service_port)
        } else {
            format!("{remote}:{}", self.service_port)
        }
    }
}

/// The versioned document: what was asked, how it ended, what was counted.
pub(crate) fn json(
    settings: &Settings<'_>,
    program: &[String],
    status: ExitStatus,
    counts: &Counts,
) -> String {
    let document = serde_json::json!({
        "schema": "tinygram.run/1",
        "policy": settings.rules.policy.name(),
        "hold_below_bytes": settings.rules.hold_below,
        "watchdog_us": settings.rules.watchdog_ns as f64 / 1e3,
        "eager": settings.rules.eager,
        "only": settings.only.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        "program": program,
        "exit_code": status.code(),
        "signal": status.signal(),
        "counts": counts,
    });
    format!("{document:#}\n")
}

/// A line per remote address, then the causes and what needs explaining.
pub(crate) fn text(settings: &Settings<'_>, counts: &Counts) -> String {
    let mut out = format!(
        "\ntinygram run: policy {}, {} process{}\n",
        settings.rules.policy.name(),
        counts.processes,
        if counts.processes == 1 { "" } else { "es" },
    );
    if counts.peers.is_empty() {
        out += "no TCP connection was made or accepted\n";
        return out;
    }
    let width = counts
        .peers
        .iter()
        .take(SHOWN)
        .map(|peer| peer.name().len())
        .max()
        .unwrap_or(0)
        .max(6);
    let _ = writeln!(
        out,
        "{:width$} {:>6} {:>9} {:>9} {:>9} {:>11} {:>8}",
        "remote", "conns", "writes", "segments", "merged", "longest", "rescues"
    );
    for peer in counts.peers.iter().take(SHOWN) {
        let segments = if peer.connections_ended_unseen < peer.connections {
            peer.segments_sent.to_string()
        } else {
            "?".into()
        };
        let _ = writeln!(
            out,
            "{:width$} {:>6} {:>9} {:>9} {:>9} {:>8.0} us {:>8}",
            peer.name(),
            peer.connections,
            peer.writes,
            segments,
            peer.writes_merged,
            peer.longest_hold_us,
            peer.watchdog_rescues,
        );
    }
    if counts.peers.len() > SHOWN {
        let _ = writeln!(
            out,
            "... and {} more addresses (all of them with --stats=json)",
            counts.peers.len() - SHOWN
        );
    }
    out + &causes(counts) + &remarks(counts)
}

fn causes(counts: &Counts) -> String {
    let total = |name| {
        counts
            .peers
            .iter()
            .map(|peer| peer.flushes.get(name).copied().unwrap_or(0))
            .sum::<u64>()
    };
    let parts: Vec<_> = Cause::ALL
        .iter()
        .map(|(_, name)| (*name, total(*name)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if parts.is_empty() {
        "flushes: none\n".into()
    } else {
        format!("flushes: {}\n", parts.join(", "))
    }
}

fn remarks(counts: &Counts) -> String {
    let sum = |count: fn(&Peer) -> u64| counts.peers.iter().map(count).sum::<u64>();
    let mut out = String::new();
    let unseen = sum(|peer| peer.connections_ended_unseen);
    if unseen > 0 {
        let _ = writeln!(
            out,
            "segments: {unseen} of {} connections ended unseen (the process died, or handed them on); theirs are not counted",
            sum(|peer| peer.connections)
        );
    }
    if counts.unlisted_connections > 0 {
        let _ = writeln!(
            out,
            "{} connections to further addresses are not listed",
            counts.unlisted_connections
        );
    }
    out
}

/// Addresses shown as text.
const SHOWN: usize = 20;
