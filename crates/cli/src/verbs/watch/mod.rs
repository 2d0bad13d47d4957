//! `tinygram watch`: stalls and floods on a running host, as they happen, by process.
//!
//! Typed ([`args`]) -> meant ([`target`]) -> done (`tinygram-watch`) -> shown ([`sentence`], [`table`],
//! [`json`]).

mod args;
mod http;
mod json;
mod metrics;
mod otlp;
mod repeats;
mod screen;
mod seen;
pub(crate) mod sentence;
mod show;
mod table;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tinygram_host::process::Process;
use tinygram_host::start::has_ended;
use tinygram_watch::finding::Finding;
use tinygram_watch::kernel::Options;
use tinygram_watch::live::{Choice, Live};
use tinygram_watch::seen::{Seen, Sight};
use tinygram_watch::summary::Summary;
use tinygram_watch::who::Processes;

pub(crate) use args::Args;
use seen::Watched;

use super::ps;
use crate::exit::{Done, Failure};

static STOPPED: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let targets = args.places.targets(&args.targets).map_err(Failure::Input)?;
    let root = args.places.root().map_err(Failure::Input)?;
    let watched = Watched::new(targets);
    let options = Options {
        by_connection: !watched.is_all(),
        hooks: args.hooks.map(Into::into),
        least_hold: args.least_hold,
        ..Options::default()
    };
    // An interface on the command line selects packets.
    let choice = match (args.source, &args.interface) {
        (Some(args::Source::Kernel), Some(_)) => {
            return Err(Failure::Input(
                "--interface is for --source packets: the kernel is asked for all interfaces"
                    .into(),
            ));
        }
        (Some(source), _) => source.into(),
        (None, Some(_)) => Choice::Packets,
        (None, None) => Choice::Best,
    };
    let interface = args.interface.as_deref().filter(|name| *name != "any");
    let metrics = args.metrics.map(metrics::serve).transpose()?;
    let live = Live::open(choice, &options, interface)
        .map_err(|lacking| Failure::Input(lacking.to_string()))?;
    ctrlc::set_handler(|| {
        if STOPPED.swap(true, Ordering::Relaxed) {
            screen::leave();
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::Io {
        doing: "listening for Ctrl-C".into(),
        error: io::Error::other(error),
    })?;
    let mut export = match &args.otlp {
        Some(url) => Some(otlp::Export::start(url, &root)?),
        None => None,
    };
    let mut watch = Watch {
        open_before: match watched.is_all() {
            true => ps::open_connections().unwrap_or(0),
            false => 0,
        },
        watched,
        lost: 0,
        live,
        processes: Processes::below(root),
        summary: Summary::default(),
    };
    let mut show = show::Show::new(args);
    show.begin(&watch)?;
    #[expect(clippy::disallowed_methods, reason = "how long to watch is real time")]
    let begun = Instant::now();
    while !STOPPED.load(Ordering::Relaxed) {
        let left = args
            .once
            .map(|length| length.saturating_sub(begun.elapsed()));
        if left == Some(Duration::ZERO) {
            break;
        }
        let patience = left.map_or(BREATH, |left| left.min(BREATH));
        for (finding, process) in watch.look(patience) {
            add(&mut export, &finding, &process);
            show.finding(&finding, &process)?;
        }
        show.breathe(&watch, begun.elapsed())?;
        if let Some(export) = &mut export {
            export.breathe(begun.elapsed());
        }
        if let Some(page) = &metrics {
            page.renew(metrics::text(&watch));
        }
    }
    // What the kernel said while the last findings were shown.
    for (finding, process) in watch.look(Duration::ZERO) {
        add(&mut export, &finding, &process);
        show.finding(&finding, &process)?;
    }
    for (finding, process) in watch.finish() {
        add(&mut export, &finding, &process);
        show.finding(&finding, &process)?;
    }
    let watched = begun.elapsed();
    let exported = export.map(otlp::Export::end);
    show.end(&watch, exported.as_ref(), watched)?;
    if exported.is_some_and(|exported| !exported.is_whole()) {
        return Ok(Done::Partly);
    }
    // As in `ps`, and as grep does: exit code 1 if nothing matches.
    Ok(match watch.watched.unmet().is_empty() {
        true => Done::Well,
        false => Done::Found,
    })
}

fn add(export: &mut Option<otlp::Export>, finding: &Finding, process: &Process) {
    if let Some(export) = export {
        export.add(finding, process);
    }
}

/// What is being watched, and the findings so far.
struct Watch {
    watched: Watched,
    /// The connections of this network namespace that were open at the beginning, if everything is watched.
    open_before: u64,
    live: Live,
    /// Events or packets that were lost for lack of room.
    lost: u64,
    processes: Processes,
    summary: Summary,
}

impl Watch {
    /// Returns new findings after `patience` at most.
    fn look(&mut self, patience: Duration) -> Vec<(Finding, Process)> {
        let mut new = Vec::new();
        self.live.poll(patience, |finding| new.push(finding));
        self.lost = self.live.lost();
        let sights = self.live.sights();
        self.notice(sights);
        self.keep(new)
    }

    fn finish(&mut self) -> Vec<(Finding, Process)> {
        let mut new = Vec::new();
        self.live.finish(|finding| new.push(finding));
        let mut sights = self.live.sights();
        sights.extend(self.live.open_sights());
        self.notice(sights);
        let kept = self.keep(new);
        self.summary.fold(|process| has_ended(process.pid));
        kept
    }

    /// Counts the connections that are meant.
    fn notice(&mut self, sights: Vec<Sight>) {
        for sight in sights {
            let process = self.processes.of(&sight.writer, sight.at_ns);
            if self
                .watched
                .meets(&sight.connection, &sight.writer, process)
            {
                self.watched.add(sight.seen);
            }
        }
    }

    /// Returns how much was seen of what is watched.
    fn seen(&self) -> Seen {
        let mut all = self.live.seen();
        if self.live.name() == "kernel" {
            all.connections += self.open_before;
        }
        self.watched.seen(all)
    }

    fn keep(&mut self, new: Vec<Finding>) -> Vec<(Finding, Process)> {
        let mut kept = Vec::new();
        for mut finding in new {
            if !self.live.knows_sides() {
                finding.side = self.processes.side(&finding.process, &finding.connection);
            }
            let process = self
                .processes
                .of(&finding.process, finding.start_ns)
                .clone();
            let (connection, writer) = (&finding.connection, &finding.process);
            if !self.watched.meets(connection, writer, &process) {
                self.watched.pass_over(&finding, &process);
                continue;
            }
            self.summary.add(&finding, &process);
            kept.push((finding, process));
        }
        self.summary.fold_in_time(|process| has_ended(process.pid));
        kept
    }
}

/// How often the display is renewed and the end is checked.
const BREATH: Duration = Duration::from_millis(250);
