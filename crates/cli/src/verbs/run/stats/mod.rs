//! `--stats`: the page in which every process of the run counts.

mod show;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use memmap2::{MmapMut, MmapOptions};
use serde::Serialize;
use tempfile::NamedTempFile;
use tinygram_coalesce::unmapped;
use tinygram_host::text::plain;
use tinygram_preload::page::{Cause, Page, Why};
use tinygram_watch::seen::Seen;
use tinygram_watch::site::CallSite;

use super::sites::{StallSite, Traced};
use crate::outcome::Failure;
pub(crate) use show::{json, text};

/// The file of the page while the program runs.
pub(crate) struct Counted {
    file: NamedTempFile,
    map: MmapMut,
    /// Under `observe`: the traces of waiting writes.
    traced: Option<Traced>,
}

impl Counted {
    /// Creates the page, with room for traces of waiting writes if they are wanted.
    pub(crate) fn create(tracing: Tracing) -> Result<Self, Failure> {
        let make = || {
            let file = NamedTempFile::with_prefix("tinygram-run-")?;
            file.as_file().set_len(size_of::<Page>() as u64)?;
            // SAFETY: no argument, cannot fail.
            if unsafe { libc::geteuid() } == 0 {
                // Servers start as root and continue as another user, so the name must not be
                // guessable.
                file.as_file()
                    .set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
            }
            // SAFETY: the file is ours; other processes that map it use only atomics, as we do.
            let map = unsafe {
                MmapOptions::new()
                    .len(size_of::<Page>())
                    .map_mut(file.as_file())?
            };
            let traced = match tracing {
                Tracing::On => Some(Traced::create(file.path())?),
                Tracing::Off => None,
            };
            Ok(Self { file, map, traced })
        };
        make().map_err(|error| Failure::Io {
            doing: "making the statistics file".into(),
            error,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the page itself.
    pub(crate) fn page(&self) -> &Page {
        // SAFETY: a mapping is aligned to pages and as long as a `Page`, of which any content is valid.
        unsafe { &*self.map.as_ptr().cast::<Page>() }
    }

    /// Removes the file. Processes that have it mapped continue to count for nobody.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(self.path());
        if let Some(traced) = &self.traced {
            traced.remove();
        }
    }

    /// Starts reading traces of waiting writes. Call it in the process that will show them.
    pub(crate) fn look(&self) {
        if let Some(traced) = &self.traced {
            traced.read();
        }
    }

    /// Returns the counts so far. No more traces are read from now on.
    pub(crate) fn read(&self) -> Counts {
        let sites = self.traced.as_ref().map(|traced| traced.end().sites());
        let page = self.page();
        let get = |count: &AtomicU64| count.load(Relaxed);
        let mut counts = Counts {
            processes: get(&page.processes),
            unlisted_connections: get(&page.unlisted),
            processes_still_running: page.enlisted().filter(|pid| is_alive(page, *pid)).count()
                + page.unborn.load(Relaxed) as usize,
            programs_not_covered: page
                .escaped()
                .map(|(name, why, times)| Escaped {
                    name: plain(&String::from_utf8_lossy(&name)),
                    reason: in_words_why(why),
                    times,
                })
                .collect(),
            stall_sites: sites,
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
                writes_unwatched: get(&row.unwatched),
                writes_passed_by_trial: get(&row.measured),
                segments_sent: get(&row.segments),
                flushes: Cause::ALL
                    .iter()
                    .map(|(cause, name)| (*name, get(&row.flushes[*cause as usize])))
                    .collect(),
                longest_hold_us: get(&row.longest_hold_ns) as f64 / 1e3,
                watchdog_rescues: get(&row.flushes[Cause::Watchdog as usize]),
                went_over_to_nodelay: get(&row.went_over),
                answers_in_several_writes: get(&row.in_several),
                waited: Some(Waited {
                    stalls: get(&row.stalls),
                    stalled_ms: get(&row.stalled_ns) as f64 / 1e6,
                    longest_stall_ms: get(&row.longest_stall_ns) as f64 / 1e6,
                }),
                awaited: get(&row.awaited),
                awaited_ms: get(&row.awaited_ns) as f64 / 1e6,
                awaited_briefly: get(&row.awaited_briefly),
                unawaited: get(&row.unawaited),
                corked: get(&row.corked),
                process: (row.process.load(Relaxed), plain(&row.name())),
            };
            counts.enter(fresh);
        }
        counts.sort();
        counts
    }
}

/// Whether to trace the writes that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracing {
    On,
    Off,
}

fn in_words_why(why: Why) -> &'static str {
    match why {
        Why::Static => "statically linked",
        Why::Environment => "started without LD_PRELOAD and TINYGRAM_RUN",
        Why::Root => {
            "in another root directory, where the library is not: --library-dir names one that both see"
        }
        Why::Sanitizer => {
            "built with a sanitizer, which must be loaded first: started without the library"
        }
        Why::OtherLibc => "a 32-bit program or another C library's: started without the library",
    }
}

/// All counts of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Counts {
    /// Processes the library was loaded into.
    pub(super) processes: u64,
    /// Connections to addresses beyond the page's rows.
    pub(super) unlisted_connections: u64,
    /// Covered processes that still ran when the program ended.
    pub(super) processes_still_running: usize,
    /// Programs that covered ones executed and into which the library was not loaded.
    pub(super) programs_not_covered: Vec<Escaped>,
    /// Under observe: the lines that made the writes that waited; some may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stall_sites: Option<Vec<StallSite>>,
    pub(super) peers: Vec<Peer>,
}

#[derive(Debug, Serialize)]
pub(super) struct Escaped {
    pub(super) name: String,
    pub(super) reason: &'static str,
    pub(super) times: u64,
}

/// Under observe: writes that waited for an acknowledgment.
#[derive(Debug, Default, Serialize)]
pub(super) struct Waited {
    stalls: u64,
    stalled_ms: f64,
    longest_stall_ms: f64,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Peer {
    pub(super) remote: String,
    pub(super) service_port: u16,
    pub(super) accepted: bool,
    pub(super) connections: u64,
    pub(super) connections_ended_unseen: u64,
    pub(super) writes: u64,
    pub(super) bytes: u64,
    pub(super) writes_held: u64,
    pub(super) writes_merged: u64,
    /// Writes that were to be held but passed, because the watchdog rested and was not worth
    /// waking.
    pub(super) writes_unwatched: u64,
    /// Writes that were to be held but passed, because holding was measured to be worse, or was
    /// being measured.
    pub(super) writes_passed_by_trial: u64,
    pub(super) segments_sent: u64,
    pub(super) flushes: BTreeMap<&'static str, u64>,
    pub(super) longest_hold_us: f64,
    pub(super) watchdog_rescues: u64,
    /// Connections that switched to `NODELAY`, because they were rescued too often.
    pub(super) went_over_to_nodelay: u64,
    /// On connections for which the program did not set `TCP_NODELAY`.
    pub(super) answers_in_several_writes: u64,
    /// `None` where it is not measured.
    #[serde(flatten)]
    pub(super) waited: Option<Waited>,
    /// Those of `waited` during which the program waited for its peer; `guard` shows them.
    #[serde(skip)]
    pub(super) awaited: u64,
    #[serde(skip)]
    pub(super) awaited_ms: f64,
    /// As `awaited`, but for less time than a receiver's timer takes.
    #[serde(skip)]
    pub(super) awaited_briefly: u64,
    /// Under observe: writes that waited while their thread slept and the program did not wait for
    /// its peer.
    #[serde(skip)]
    pub(super) unawaited: u64,
    /// Under observe: how often a thread slept while a cork held what it had written. How long is not known.
    pub(super) corked: u64,
    /// The process that made the last awaited write.
    #[serde(skip)]
    pub(super) process: (u32, String),
}

/// Writes to a remote address that waited for an acknowledgment while the program waited for its
/// peer.
#[derive(Debug)]
pub(crate) struct Awaited {
    /// The process that made the last of them.
    pub(crate) process: u32,
    /// Its name.
    pub(crate) name: String,
    /// The ends of the connections.
    pub(crate) ends: String,
    /// Whether the program accepted the connections, so that it is the server.
    pub(crate) accepted: bool,
    /// Whether both ends are on this host, at its loopback addresses.
    pub(crate) loopback: bool,
    pub(crate) times: u64,
    /// The sum of their waits.
    pub(crate) ms: f64,
}

impl Counts {
    /// Enters what was counted of a remote address.
    pub(super) fn enter(&mut self, fresh: Peer) {
        // Two threads may have opened an account for one peer at the same instant.
        let known = self.peers.iter_mut().find(|known| {
            (&known.remote, known.service_port, known.accepted)
                == (&fresh.remote, fresh.service_port, fresh.accepted)
        });
        match known {
            Some(known) => known.add(&fresh),
            None => self.peers.push(fresh),
        }
    }

    /// Puts the remote addresses with the most writes first.
    pub(super) fn sort(&mut self) {
        self.peers.sort_by(|a, b| {
            b.writes
                .cmp(&a.writes)
                .then_with(|| a.remote.cmp(&b.remote))
        });
    }

    /// Returns the writes that waited for an acknowledgment; `None` where it is not measured.
    fn waited(&self) -> Option<Waited> {
        if self.peers.iter().any(|peer| peer.waited.is_none()) {
            return None;
        }
        let all = self.peers.iter().flat_map(|peer| &peer.waited);
        Some(all.fold(Waited::default(), |sum, one| Waited {
            stalls: sum.stalls + one.stalls,
            stalled_ms: sum.stalled_ms + one.stalled_ms,
            longest_stall_ms: sum.longest_stall_ms.max(one.longest_stall_ms),
        }))
    }

    /// Returns the lines of a process whose writes waited, those with the most waits first.
    pub(crate) fn sites_of(&self, process: u32) -> impl Iterator<Item = &CallSite> {
        let sites = self.stall_sites.iter().flatten();
        let theirs = sites.filter(move |one| one.processes.contains(&process));
        theirs.map(|one| &one.site)
    }

    /// Returns the awaited writes, by remote address.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = Awaited> {
        self.peers
            .iter()
            .filter(|peer| peer.awaited > 0)
            .map(|peer| Awaited {
                process: peer.process.0,
                name: peer.process.1.clone(),
                ends: peer.name(),
                accepted: peer.accepted,
                loopback: peer.is_loopback(),
                times: peer.awaited,
                ms: peer.awaited_ms,
            })
    }

    /// Returns the writes that waited while the program waited for its peer, but for less time than a
    /// receiver's timer takes.
    pub(crate) fn awaited_briefly(&self) -> u64 {
        self.peers.iter().map(|peer| peer.awaited_briefly).sum()
    }

    /// Returns the writes that waited while their thread slept and the program did not wait for its
    /// peer.
    pub(crate) fn unawaited(&self) -> u64 {
        self.peers.iter().map(|peer| peer.unawaited).sum()
    }

    /// Returns how much was seen, and of how many connections the segments are not known: they ended while the
    /// library did not look, or have not ended.
    pub(crate) fn seen(&self) -> (Seen, u64) {
        let sum = |count: fn(&Peer) -> u64| self.peers.iter().map(count).sum::<u64>();
        let seen = Seen {
            connections: sum(|peer| peer.connections) + self.unlisted_connections,
            writes: Some(sum(|peer| peer.writes)),
            segments: sum(|peer| peer.segments_sent),
            timed: 0,
        };
        let unknown = sum(|peer| peer.connections_ended_unseen) + self.unlisted_connections;
        (seen, unknown)
    }

    /// Returns the reason why something may have been missed, if there is one.
    pub(crate) fn uncovered(&self) -> Option<String> {
        if self.processes == 0 {
            return Some("the library was loaded into no process".to_owned());
        }
        if let Some(program) = self.programs_not_covered.first() {
            return Some(format!("{} is {}", program.name, program.reason));
        }
        if self.unlisted_connections > 0 {
            return Some(format!(
                "{} connections went to more addresses than are listed",
                self.unlisted_connections
            ));
        }
        let corked: u64 = self.peers.iter().map(|peer| peer.corked).sum();
        (corked > 0).then(|| {
            format!(
                "a cork (TCP_CORK, MSG_MORE) held what a thread had written while it slept, {corked} times; only the \
                 kernel tells for how long (--source kernel)"
            )
        })
    }
}

impl Peer {
    /// Returns whether the peer is on this host, as far as its address alone tells: the local ends are not listed, so a host
    /// that talks to itself by another of its addresses is not recognised.
    fn is_loopback(&self) -> bool {
        let address = self.remote.parse::<std::net::IpAddr>();
        address.is_ok_and(|address| address.is_loopback())
    }

    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.connections_ended_unseen += other.connections_ended_unseen;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.writes_held += other.writes_held;
        self.writes_merged += other.writes_merged;
        self.writes_unwatched += other.writes_unwatched;
        self.writes_passed_by_trial += other.writes_passed_by_trial;
        self.segments_sent += other.segments_sent;
        for (cause, count) in &other.flushes {
            *self.flushes.entry(cause).or_default() += count;
        }
        self.longest_hold_us = self.longest_hold_us.max(other.longest_hold_us);
        self.watchdog_rescues += other.watchdog_rescues;
        self.went_over_to_nodelay += other.went_over_to_nodelay;
        self.answers_in_several_writes += other.answers_in_several_writes;
        if let (Some(own), Some(more)) = (&mut self.waited, &other.waited) {
            own.stalls += more.stalls;
            own.stalled_ms += more.stalled_ms;
            own.longest_stall_ms = own.longest_stall_ms.max(more.longest_stall_ms);
        }
        self.awaited += other.awaited;
        self.awaited_ms += other.awaited_ms;
        self.awaited_briefly += other.awaited_briefly;
        self.unawaited += other.unawaited;
        self.corked += other.corked;
        if other.process.0 != 0 {
            self.process = other.process.clone();
        }
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

/// Returns whether a covered process still runs; the program itself has ended when this is called.
fn is_alive(page: &Page, pid: u32) -> bool {
    // SAFETY: asks, and sends nothing.
    pid != page.main.load(Relaxed) && unsafe { libc::kill(pid as libc::pid_t, 0) } == 0
}
