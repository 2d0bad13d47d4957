//! `tinygram set`: sets options of live sockets, whoever owns them, and puts them back.

mod back;
mod changes;
mod done;
mod ends;
mod knobs;
mod plan;
mod programs;
mod show;

use std::time::Duration;

use crate::flags::Places;
use crate::host_flags::JournalFolder;
use crate::outcome::{Done, Failure};
use crate::values::span;
use plan::Plan;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which sockets, and what they are to have
    #[arg(value_name = "TARGET|OPTION=VALUE", required_unless_present_any = ["undo", "list"])]
    words: Vec<String>,

    #[command(flatten)]
    places: Places,

    /// Only connections with this other end: an address, a network (10.0.0.0/8), or a port (:6379)
    #[arg(long, value_name = "PEER")]
    peer: Vec<String>,

    /// Every socket of this network namespace
    #[arg(long)]
    all: bool,

    /// Put it back after this long (500ms to 24h), or at Ctrl-C
    #[arg(long = "for", value_name = "LENGTH", value_parser = span)]
    lasting: Option<Duration>,

    /// Connections to come, too, until Ctrl-C (or --for); then everything is put back
    #[arg(long)]
    follow: bool,

    /// Find the sockets and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Put back a change by its number, or every change that no running process has
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, conflicts_with_all = ["words", "peer", "all", "lasting", "follow", "dry_run", "list"])]
    undo: Option<Option<u64>>,

    /// Show the changes that are in force
    #[arg(long, conflicts_with_all = ["words", "peer", "all", "lasting", "follow", "dry_run"])]
    list: bool,

    /// One JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    journal: JournalFolder,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::of(args).map_err(Failure::Input)?;
    match plan {
        Plan::Set(plan) => done::set(&plan, args),
        Plan::Undo(number) => done::undo(number, args),
        Plan::List => done::list(args),
    }
}

const EXAMPLES: &str = "Examples:
  tinygram set mosquitto nodelay=on         every connection of a broker, now
  tinygram set 6379 delack-max=8ms --for 10m
  tinygram set nginx nodelay=on --follow    connections to come, too, until Ctrl-C
  tinygram set nginx quickack=on            the routes over which its connections send
  tinygram set my-container pingpong=3      every connection of its network namespace
  tinygram set my.service nodelay=on --peer 10.0.0.0/8 --dry-run
  tinygram set --list
  tinygram set --undo

What is changed is in the journal, /var/lib/tinygram/journal, of this host (also from a chroot), which its owner alone may read.
The exit code is 0 if all was done, 1 if nothing was found, 2 if it was refused or done in part, 3 if --list cannot tell.";
