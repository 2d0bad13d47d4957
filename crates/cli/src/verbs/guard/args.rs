//! What `guard` takes on the command line.

use std::path::PathBuf;

use clap::ValueEnum;

use super::accepted::Line;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Accept up to this many stalls
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) max_holds: u64,

    /// Accept the stalls of the writes that this line makes, however many; may be repeated
    #[arg(long, value_name = "FILE:LINE", value_parser = Line::read)]
    pub(super) accept: Vec<Line>,

    /// End with exit code 3 if fewer connections than this were seen (each end on this host counts)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) min_connections: u64,

    /// What to ask [default: the kernel where it can be, else the preloaded library]
    #[arg(long, value_enum)]
    pub(super) source: Option<Asked>,

    /// Write the result as a JUnit report
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,

    /// Print an annotation for GitHub for each stall [default: where GITHUB_ACTIONS is true]
    #[arg(long)]
    pub(super) github: bool,

    /// Write what the kernel says to a file, for --replay (for developers)
    #[arg(long, value_name = "FILE", hide = true)]
    pub(super) record: Option<PathBuf>,

    /// Judge a recorded run again, and run nothing (for developers)
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["command", "record", "junit", "source", "min_connections"])]
    pub(super) replay: Option<PathBuf>,

    /// The command and its arguments
    #[arg(
        required_unless_present = "replay",
        trailing_var_arg = true,
        value_name = "COMMAND"
    )]
    pub(super) command: Vec<String>,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Asked {
    /// BPF programs: all kinds of holds, the line that writes, programs of any language
    Kernel,
    /// A preloaded library that asks each socket after its writes: Nagle's holds alone, programs that call
    /// the C library
    Preload,
}

const EXAMPLES: &str = "\
Examples:
  tinygram guard -- pytest
  tinygram guard --junit guard.xml -- cargo test
  tinygram guard --max-holds 3 --min-connections 1 -- ./bench.sh
  tinygram guard --accept client.py:40 -- pytest";
