//! A program that is started with the rule in it.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tinygram_coalesce::unmapped;
use tinygram_graft::launch::{self, Listener};
use tinygram_graft::layout::{self, Cause, Inert, Shared};
use tinygram_graft::object::Object;
use tinygram_graft::verify::Verified;

use super::How;
use super::verified;
use crate::outcome::{Done, Failure};
use crate::verbs::run::show::Show;
use crate::verbs::run::start::{ALTERNATIVES, Start};
use crate::verbs::run::stats::{Counts, Escaped, Peer};
use crate::verbs::run::{done, witness};

/// Becomes the program, with the rule in it.
pub(in crate::verbs::run) fn run(start: &Start, how: &How) -> Result<Done, Failure> {
    let file = &start.file;
    let refused = |why: &dyn std::fmt::Display| {
        Failure::Input(format!("{} {why}; {ALTERNATIVES}", file.display()))
    };
    let bytes = fs::read(file).map_err(|error| Failure::Io {
        doing: format!("reading {}", file.display()),
        error,
    })?;
    let program = how.read(&bytes).map_err(|why| refused(&why))?;
    let object =
        Object::carried().ok_or_else(|| refused(&"needs an x86-64 build of this command"))?;
    let listener = Listens {
        show: Show::open(start)?,
    };
    let begins = launch::Start {
        program: &program,
        object: &object,
        settings: &how.settings,
        is_verified: how.verify,
    };
    let command = done::command(&start.words);
    let why = launch::become_program(command, begins, listener);
    Err(refused(&format_args!("was not started: {why}")))
}

/// Shows what was seen of a program and what was done in it.
struct Listens<'a> {
    show: Option<Show<'a>>,
}

impl Listener for Listens<'_> {
    fn verified(&mut self, verified: &Verified, pid: u32) {
        let _ = std::io::stderr().write_all(verified::told(verified, pid).as_bytes());
    }

    fn ended(&mut self, shared: &Shared, process: &OwnedFd) {
        if let Some(show) = self.show.take() {
            show.show(&counts(shared), witness::end_of(process));
        }
    }
}

/// Returns what was counted, as `--stats` shows it.
fn counts(shared: &Shared) -> Counts {
    let get = |count: &AtomicU64| count.load(Relaxed);
    let escaped = |name: &str, reason, times| {
        (times > 0).then(|| Escaped {
            name: name.to_owned(),
            reason,
            times,
        })
    };
    let executed = escaped(
        "what the program executed",
        "started without the rule",
        get(&shared.executed),
    );
    let rings = escaped(
        "what the program writes by io_uring",
        "its rings pass by",
        get(&shared.rings),
    );
    let rests = escaped("the program itself", rests(shared).unwrap_or_default(), {
        u64::from(rests(shared).is_some())
    });
    let mut counts = Counts {
        processes: 1,
        unlisted_connections: get(&shared.unlisted),
        processes_still_running: 0,
        programs_not_covered: [executed, rings, rests].into_iter().flatten().collect(),
        stall_sites: None,
        peers: Vec::new(),
    };
    for row in &shared.peers {
        if row.state.load(Relaxed) == layout::Peer::READY {
            counts.enter(peer(row));
        }
    }
    counts.sort();
    counts
}

/// Returns why the rule rested in the program, if it did.
fn rests(shared: &Shared) -> Option<&'static str> {
    const WHY: [(Inert, &str); 5] = [
        (
            Inert::Sandbox,
            "it sandboxed itself, and was left alone from then on",
        ),
        (
            Inert::Hidden,
            "it may not be looked into any more (PR_SET_DUMPABLE), and was left alone from then on",
        ),
        (
            Inert::Registers,
            "its registers are not those of a Go program, so it was left alone",
        ),
        (
            Inert::Alone,
            "the watchdog was gone, so it was left alone from then on",
        ),
        (
            Inert::Replaced,
            "it executed another program, which is not covered",
        ),
    ];
    let inert = shared.inert.load(Relaxed);
    WHY.iter()
        .find(|(why, _)| *why as u32 == inert)
        .map(|(_, text)| *text)
}

fn peer(row: &layout::Peer) -> Peer {
    let get = |count: &AtomicU64| count.load(Relaxed);
    let service = row.service.load(Relaxed);
    let [high, low] = &row.address;
    let address = u128::from(get(high)) << 64 | u128::from(get(low));
    let sums = &row.counts;
    let flushes = Cause::ALL.map(|(cause, name)| (name, get(&sums.flushes[cause as usize])));
    Peer {
        remote: unmapped(address).to_string(),
        service_port: (service >> 1) as u16,
        accepted: service & 1 != 0,
        connections: get(&row.connections),
        connections_ended_unseen: get(&row.connections).saturating_sub(get(&row.settled)),
        writes: get(&sums.writes),
        bytes: get(&sums.octets),
        writes_held: get(&sums.held),
        writes_merged: get(&sums.merged),
        writes_unwatched: get(&sums.unwatched),
        // The rule inside a Go or static program makes no trials.
        writes_passed_by_trial: 0,
        segments_sent: get(&row.segments),
        flushes: flushes.into_iter().collect(),
        longest_hold_us: get(&sums.longest_hold_ns) as f64 / 1e3,
        watchdog_rescues: get(&sums.flushes[Cause::Watchdog as usize]),
        went_over_to_nodelay: get(&sums.went_over),
        answers_in_several_writes: get(&row.in_several),
        ..Peer::default()
    }
}
