//! `tinygram guard -- COMMAND`: fails if TCP held data of one of the command's connections while
//! its process waited for the peer.
//!
//! No time limit is used. A hold counts if the thread that wrote went to sleep during it, and the
//! program's next action on the connection was to read what the peer sent after it.

mod accepted;
mod done;
mod kernel;
mod looked;
mod preload;
mod reports;
mod repository;
mod show;

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tinygram_report::Destination;
use tinygram_watch::kernel::recording::Recording;

use self::accepted::{Accepted, Line};
use self::looked::{Looked, in_words};
use crate::amount;
use crate::exit::{Done, Failure};
use crate::supervise;
use crate::terminal::remark;

/// Run a test suite or a benchmark, and fail if a connection of it stalls
///
/// A connection stalls if TCP holds a short segment while the process that wrote it waits for its peer.
/// Stalls are detected when the process waits and its peer's timer of delayed acknowledgments expires, not by a
/// time limit. The exit
/// code is the command's if that is not 0, else 1 if there were stalls that are not accepted, else 0; 3 if they
/// could not be looked for, or fewer connections were seen than --min-connections wants. The kernel is asked
/// where it can be (root, or CAP_BPF and CAP_PERFMON, and Linux 6.3); else a library is preloaded, which takes no
/// privileges.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Accept up to this many stalls
    #[arg(long, value_name = "N", default_value_t = 0)]
    max_holds: u64,

    /// Accept the stalls of the writes that this line makes, however many; may be repeated
    #[arg(long, value_name = "FILE:LINE", value_parser = Line::read)]
    accept: Vec<Line>,

    /// End with exit code 3 if fewer connections than this were seen (each end on this host counts)
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_connections: u64,

    /// What to ask [default: the kernel where it can be, else the preloaded library]
    #[arg(long, value_enum)]
    source: Option<Asked>,

    /// Write the result as a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print an annotation for GitHub for each stall [default: where GITHUB_ACTIONS is true]
    #[arg(long)]
    github: bool,

    /// Write what the kernel says to a file, for --replay (for developers)
    #[arg(long, value_name = "FILE", hide = true)]
    record: Option<PathBuf>,

    /// Judge a recorded run again, and run nothing (for developers)
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["command", "record", "junit", "source", "min_connections"])]
    replay: Option<PathBuf>,

    /// The command and its arguments
    #[arg(
        required_unless_present = "replay",
        trailing_var_arg = true,
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Asked {
    /// BPF programs: all kinds of holds, the line that writes, programs of any language
    Kernel,
    /// A preloaded library that asks each socket after its writes: Nagle's holds alone, programs that call
    /// the C library
    Preload,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    if let Some(path) = &args.replay {
        return replay(args, path);
    }
    // Checked to be possible before the command runs.
    let report = args.junit.as_ref().map(|path| {
        let destination = Destination::open(path);
        destination.map_err(|error| writing(path, error))
    });
    let report = report.transpose()?;
    let looked = done::look(args)?;
    let accepted = Accepted::of(args, &looked.stalls);
    let cannot_tell = cannot_tell(args, &looked);
    show::say(&looked, &accepted);
    let reported = match (report, &args.junit) {
        (Some(destination), Some(path)) => {
            let text = reports::junit(&args.command, &looked, &accepted, cannot_tell.as_deref());
            let written = destination.write(text.as_bytes());
            written.map_err(|error| writing(path, error))
        }
        _ => Ok(()),
    };
    if args.github || std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true") {
        // Whether anybody reads the annotations decides nothing: the exit code is the verdict.
        let _ = crate::terminal::print(reports::github(&looked, &accepted).as_bytes());
    }
    if !looked.status.success() {
        if let Err(failure) = &reported {
            failure.say();
        }
        supervise::end_like(looked.status);
    }
    let found = accepted.refused() > 0;
    if let Err(failure) = reported {
        if !found {
            return Err(failure);
        }
        failure.say();
    }
    match cannot_tell {
        _ if found => Ok(Done::Found),
        Some(why) => Err(Failure::Blind(why)),
        None => Ok(Done::Well),
    }
}

/// Returns the reason why stalls may have been missed, if there is one.
fn cannot_tell(args: &Args, looked: &Looked) -> Option<String> {
    if let Some(why) = &looked.blind {
        return Some(format!("could not look at everything: {why}"));
    }
    let seen = looked.seen.connections;
    (seen < args.min_connections).then(|| {
        format!(
            "{} seen, and --min-connections wants {}: nothing is known of the others",
            amount::counted(seen, "connection"),
            args.min_connections
        )
    })
}

/// Judges a recorded run again.
fn replay(args: &Args, path: &Path) -> Result<Done, Failure> {
    let recording = File::open(path).and_then(Recording::read);
    let recording = recording.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => Failure::Input(format!(
            "{} is no recording of this version, or is damaged; accepted: what guard --record writes",
            path.display()
        )),
        _ => Failure::Input(format!(
            "{}: {}",
            path.display(),
            crate::exit::plain(&error)
        )),
    })?;
    if recording.is_cut {
        remark(&format!(
            "tinygram guard: {}: its last record is cut off and was dropped",
            path.display()
        ));
    }
    let (stalls, apart, prompt) = kernel::replay(recording);
    for stall in &stalls {
        remark(&format!("tinygram guard: {}", in_words(stall)));
    }
    let count: u64 = stalls.iter().map(|stall| stall.times).sum();
    let text = format!("{count} stalls, {prompt} without a timer, {apart} not waited for\n");
    crate::terminal::print(text.as_bytes())?;
    Ok(match Accepted::of(args, &stalls).refused() {
        0 => Done::Well,
        _ => Done::Found,
    })
}

fn writing(path: &Path, error: std::io::Error) -> Failure {
    Failure::Io {
        doing: format!("writing {}", path.display()),
        error,
    }
}

const EXAMPLES: &str = "\
Examples:
  tinygram guard -- pytest
  tinygram guard --junit guard.xml -- cargo test
  tinygram guard --max-holds 3 --min-connections 1 -- ./bench.sh
  tinygram guard --accept client.py:40 -- pytest";
