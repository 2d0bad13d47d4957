//! `tinygram guard -- COMMAND`: fails if TCP held data of one of the command's connections while
//! its process waited for the peer.
//!
//! No time limit is used. A hold counts if the thread that wrote went to sleep during it, and the
//! program's next action on the connection was to read what the peer sent after it.

mod accepted;
mod args;
mod done;
mod kernel;
mod looked;
mod preload;
mod reports;
mod repository;
mod show;

use std::fs::File;
use std::path::Path;

use tinygram_report::Destination;
use tinygram_watch::kernel::recording::Recording;

use self::accepted::Accepted;
pub(crate) use self::args::Args;
use self::args::Asked;
use self::looked::{Looked, in_words};
use crate::amount;
use crate::exit::{Done, Failure};
use crate::supervise;
use crate::terminal::remark;

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
