//! Go programs and static ones: no library can be loaded into them, so the rule is put in by
//! `tinygram-graft`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tinygram_coalesce::Policy;
use tinygram_graft::layout::{self, Cause, Shared};
use tinygram_graft::object::Object;
use tinygram_graft::shared::{self, Settings};
use tinygram_graft::{launch, program};
use tinygram_preload::settings::{Only, unmapped};

use super::stats::{self, Counts, Escaped, Peer};
use super::{ALTERNATIVES, Args, Format, witness};
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
    let program = program::read(&bytes).map_err(|why| refused(&why))?;
    let object =
        Object::carried().ok_or_else(|| refused(&"needs an x86-64 build of this command"))?;
    // Opened before any work, because a name that cannot be written is bad input.
    let output = super::output(args)?;
    let shown = super::settings(args)?;
    let ended = |shared: &Shared, process: &_| {
        let Some(format) = args.stats else { return };
        let counts = counts(shared);
        let end = witness::end_of(process);
        let text = match format {
            Format::Text => stats::text(&shown, &counts),
            Format::Json => stats::json(&shown, &super::words(&args.program), end, &counts),
        };
        // Whether anybody reads this must not affect anything.
        let _ = match output {
            Some(file) => file.write(text.as_bytes()),
            None => std::io::stderr().write_all(text.as_bytes()),
        };
    };
    Err(refused(&launch::become_program(
        command, &program, &object, &settings, ended,
    )))
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
    let executed = get(&shared.executed);
    let escaped = (executed > 0).then(|| Escaped {
        name: "what the program executed".to_owned(),
        reason: "started without the rule",
        times: executed,
    });
    let mut counts = Counts {
        processes: 1,
        unlisted_connections: get(&shared.unlisted),
        processes_still_running: 0,
        programs_not_covered: escaped.into_iter().collect(),
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
