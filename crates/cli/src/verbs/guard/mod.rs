//! `tinygram guard -- COMMAND`: fails if a connection of the command's was held while its process
//! waited for the peer.
//!
//! No time limit decides: a hold counts if the thread that wrote went to sleep while it lasted and the
//! next thing that the program did on the connection was to read what the peer sent after it.

mod reports;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tinygram_diagnose::{Advice, Tier};
use tinygram_report::Destination;
use tinygram_watch::finding::{Facts, Finding, Part};
use tinygram_watch::judge::Judge;
use tinygram_watch::kernel::{Options, Source};
use tinygram_watch::who::{Process, Processes};

use super::watch::sentence;
use crate::exit::{Done, Failure, plain};
use crate::supervise;
use crate::terminal::remark;

/// Run a test suite or a benchmark, and fail if a connection of it stalls
///
/// A connection stalls if TCP holds a short segment while the process that wrote it waits for its peer.
/// It is looked for at the wait and not by a clock, so that a busy machine changes nothing. The exit
/// code is the command's if that is not 0, else 1 if there were stalls, else 0; 3 if they could not be
/// looked for. Needs root, or CAP_BPF and CAP_PERFMON, and Linux 6.3.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// So many stalls are accepted
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_holds: u64,

    /// Write the result as a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print an annotation for GitHub for each stall [default: where GITHUB_ACTIONS is true]
    #[arg(long)]
    github: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A stall of the command's.
struct Stall {
    finding: Finding,
    process: Process,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    // Known to be possible before the command runs.
    let report = args.junit.as_ref().map(|path| {
        let destination = Destination::open(path);
        destination.map_err(|error| writing(path, error))
    });
    let report = report.transpose()?;
    let options = Options {
        least_hold: Duration::ZERO,
        // Ourselves: the command is our child, and its children are its.
        tree: Some(std::process::id()),
        stacks: STACKS,
        ..Options::default()
    };
    let mut source = Source::open(&options)
        .map_err(|lacking| Failure::Blind(format!("could not look: {lacking}")))?;
    let failed = |doing: &str| {
        let doing = format!("{doing} {}", args.command[0]);
        move |error| Failure::Io { doing, error }
    };
    let supervisor =
        supervise::stand_by().map_err(failed("listening for signals to pass on to"))?;
    let child = Command::new(&args.command[0])
        .args(&args.command[1..])
        .spawn();
    let child =
        child.map_err(|error| Failure::Input(format!("{}: {}", args.command[0], plain(&error))))?;

    let mut judge = Judge::default();
    let mut processes = Processes::default();
    let mut stalls = Vec::new();
    let mut apart = 0;
    let ended = AtomicBool::new(false);
    let status = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let status = supervisor.wait(&child);
            ended.store(true, Ordering::Release);
            status
        });
        let mut last_look = false;
        while !last_look {
            last_look = ended.load(Ordering::Acquire);
            let mut found = Vec::new();
            source.poll(BREATH, |event| {
                judge.take(event, |finding| found.push(finding));
            });
            if last_look {
                judge.finish(|finding| found.push(finding));
            }
            for mut finding in found {
                finding.side = processes.side(&finding.process, &finding.connection);
                match weigh(&finding) {
                    Weight::Stall => {
                        let process = processes.of(&finding.process).clone();
                        stalls.push(Stall { finding, process });
                    }
                    Weight::Apart => apart += 1,
                    Weight::Nothing => {}
                }
            }
        }
        waits.join().expect("the waiting thread does not panic")
    })
    .map_err(failed("waiting for"))?;

    let lost = source.lost();
    drop(source);
    say(args, &stalls, apart, judge.excused.slower, lost);
    if let (Some(destination), Some(path)) = (report, &args.junit) {
        let text = reports::junit(&args.command, &stalls, args.max_holds);
        destination
            .write(text.as_bytes())
            .map_err(|error| writing(path, error))?;
    }
    if args.github || std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true") {
        crate::terminal::print(reports::github(&stalls).as_bytes())?;
    }
    if !status.success() {
        supervise::end_like(status);
    }
    if lost > 0 && stalls.len() as u64 <= args.max_holds {
        return Err(Failure::Blind(format!(
            "could not look at everything: {lost} events were lost"
        )));
    }
    match stalls.len() as u64 > args.max_holds {
        true => Ok(Done::Found),
        false => Ok(Done::Well),
    }
}

fn writing(path: &Path, error: std::io::Error) -> Failure {
    Failure::Io {
        doing: format!("writing {}", path.display()),
        error,
    }
}

enum Weight {
    Stall,
    Apart,
    Nothing,
}

/// Whether the process waited for its peer while the segment was held.
fn weigh(finding: &Finding) -> Weight {
    match finding.facts {
        Facts::Held { slept, .. } if finding.part == Part::Sent => {
            match slept && finding.tier >= Tier::Likely {
                true => Weight::Stall,
                false => Weight::Apart,
            }
        }
        _ => Weight::Nothing,
    }
}

fn say(args: &Args, stalls: &[Stall], apart: u64, slower: u64, lost: u64) {
    for stall in stalls.iter().take(MOST_SAID) {
        remark(&format!(
            "tinygram guard: {}",
            sentence::of(&stall.finding, &stall.process)
        ));
    }
    if stalls.len() > MOST_SAID {
        remark(&format!(
            "tinygram guard: and {} more",
            stalls.len() - MOST_SAID
        ));
    }
    if let Some(stall) = stalls.first() {
        for step in &Advice::of(&stall.finding.case()).steps {
            remark(&format!(
                "tinygram guard: what helps: {}: {}",
                step.side, step.text
            ));
        }
    }
    let accepted = match args.max_holds {
        0 => String::new(),
        most => format!(" ({most} accepted)"),
    };
    let mut line = format!(
        "tinygram guard: {} connection stall{}{accepted}, asked of the kernel (BPF)",
        stalls.len(),
        if stalls.len() == 1 { "" } else { "s" }
    );
    if apart > 0 {
        line += &format!("; {apart} holds that the writing thread did not wait for");
    }
    if slower > 0 {
        line += &format!("; {slower} short writes that a slower acknowledgment would have held");
    }
    if lost > 0 {
        line += &format!("; {lost} events lost");
    }
    remark(&line);
}

const BREATH: Duration = Duration::from_millis(50);
/// A second and processor; each is 8 kB of a ring of 1 MB that is emptied every 50 ms.
const STACKS: u32 = 512;
const MOST_SAID: usize = 20;
const EXAMPLES: &str = "\
Examples:
  tinygram guard -- pytest
  tinygram guard --junit guard.xml -- cargo test
  tinygram guard --max-holds 3 -- ./bench.sh";
