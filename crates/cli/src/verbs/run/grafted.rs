//! Go programs and static ones: no library can be loaded into them, so the rule is put in by
//! `tinygram-graft`.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tinygram_coalesce::Policy;
use tinygram_graft::launch::{self, Listener, Start};
use tinygram_graft::layout::{self, Cause, Inert, Shared};
use tinygram_graft::object::Object;
use tinygram_graft::program::{self, Program};
use tinygram_graft::shared::{self, Settings};
use tinygram_graft::verify::Verified;
use tinygram_preload::settings::{Only, unmapped};
use tinygram_report::Destination;

use super::stats::{self, Counts, Escaped, Peer};
use super::{ALTERNATIVES, Args, Format, elsewhere, witness};
use crate::exit::{Done, Failure};

/// Becomes the program, with the rule in it.
pub(super) fn run(args: &Args, command: Command, file: &Path) -> Result<Done, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::Input(format!("{} {why}; {ALTERNATIVES}", file.display()))
    };
    let settings = settings(args)?;
    let bytes = fs::read(file).map_err(|error| Failure::Io {
        doing: format!("reading {}", file.display()),
        error,
    })?;
    let program = read(args, &bytes).map_err(|why| refused(&why))?;
    let object =
        Object::carried().ok_or_else(|| refused(&"needs an x86-64 build of this command"))?;
    let listener = Shows {
        args,
        // Opened before any work, because a name that cannot be written is bad input.
        output: super::output(args)?,
        settings: super::settings(args)?,
    };
    let start = Start {
        program: &program,
        object: &object,
        settings: &settings,
        is_verified: args.verify,
    };
    Err(refused(&launch::become_program(command, start, listener)))
}

/// Reads a program's file; one whose version of Go was not tried is refused, unless that is asked for.
pub(super) fn read(args: &Args, bytes: &[u8]) -> Result<Program, program::Refused> {
    let program = program::read(bytes)?;
    if args.tries {
        Ok(program)
    } else {
        program.tried()
    }
}

/// Shows what was seen of a program and what was done in it.
struct Shows<'a> {
    args: &'a Args,
    output: Option<Destination>,
    settings: tinygram_preload::settings::Settings<'a>,
}

impl Listener for Shows<'_> {
    fn verified(&mut self, verified: &Verified, pid: u32) {
        let _ = std::io::stderr().write_all(elsewhere::told(verified, pid).as_bytes());
    }

    fn ended(&mut self, shared: &Shared, process: &OwnedFd) {
        let Some(format) = self.args.stats else {
            return;
        };
        let counts = counts(shared);
        let end = witness::end_of(process);
        let words = super::words(&self.args.program);
        let text = match format {
            Format::Text => stats::text(&self.settings, &counts),
            Format::Json => stats::json(&self.settings, &words, end, &counts),
        };
        // Whether anybody reads this must not affect anything.
        let _ = match self.output.take() {
            Some(file) => file.write(text.as_bytes()),
            None => std::io::stderr().write_all(text.as_bytes()),
        };
    }
}

/// Returns what is to be put in force.
pub(super) fn settings(args: &Args) -> Result<Settings, Failure> {
    if args.policy == Policy::CorkUntilBlock {
        return Err(Failure::Input(
            "cork-until-block is for programs that a library can be loaded into; accepted for a Go or \
             static program: flush-on-block, nodelay, observe"
                .into(),
        ));
    }
    let settings = super::settings(args)?;
    let only = settings.only.iter().flatten().map(|only| match *only {
        Only::Port(port) => shared::Only::Port(port),
        Only::Net { bits, prefix } => shared::Only::Net { bits, prefix },
    });
    Ok(Settings {
        rules: settings.rules,
        only: only.collect(),
        apart: args.stats.is_some(),
    })
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
    const WHY: [(Inert, &str); 4] = [
        (
            Inert::Sandbox,
            "it sandboxed itself, and was left alone from then on",
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
