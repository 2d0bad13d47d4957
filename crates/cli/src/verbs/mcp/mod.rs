//! `tinygram mcp`: the verbs as tools for coding agents, over standard input and output.
//!
//! Typed ([`Args`]) -> meant ([`plan`]) -> done (`tinygram-mcp`, whose answers are what is shown).

#[cfg(feature = "mcp")]
mod plan;

use std::path::PathBuf;
use std::time::Duration;

use crate::host_flags::JournalFolder;
use crate::outcome::{Done, Failure};
use crate::values::{size, span};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A folder whose captures and logs may be read; may be repeated. Without one no file is read
    #[arg(long, value_name = "FOLDER")]
    root: Vec<PathBuf>,

    /// The largest file that is read
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1G")]
    max_file: u64,

    /// The longest that a tool may take (2s to 10m)
    #[arg(long, value_name = "LENGTH", value_parser = span, default_value = "1m")]
    max_call: Duration,

    /// Let the tool `set` change this target's live sockets (as in set); may be repeated
    #[arg(long, value_name = "TARGET", help_heading = CHANGES)]
    allow_changes: Vec<String>,

    /// What it may set; may be repeated [default: nodelay=on]
    #[arg(long, value_name = "OPTION=VALUE", requires = "allow_changes", help_heading = CHANGES)]
    allow_setting: Vec<String>,

    /// The longest that a change may last (500ms to 24h); it is put back then, and when the server ends
    #[arg(long, value_name = "LENGTH", value_parser = span, default_value = "10m", requires = "allow_changes", help_heading = CHANGES)]
    allow_for: Duration,

    #[command(flatten)]
    journal: JournalFolder,
}

#[cfg(feature = "mcp")]
pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let limits = plan::limits(args).map_err(Failure::Input)?;
    match tinygram_mcp::serve(limits) {
        Ok(_) => Ok(Done::Well),
        Err(error) => Err(Failure::Input(error.to_string())),
    }
}

/// Says that this build has no server.
#[cfg(not(feature = "mcp"))]
pub(crate) fn run(_: &Args) -> Result<Done, Failure> {
    let text = "mcp is not in this build (accepted: packages, which have it, or a program of cargo build --features mcp)";
    Err(Failure::Input(text.to_owned()))
}

const CHANGES: &str = "Changes";

const EXAMPLES: &str = "\
Examples:
  tinygram mcp --root .                                       as an agent's configuration starts it; see the book: mcp
  tinygram mcp --root /var/captures --root /var/log/nginx
  tinygram mcp --root . --allow-changes my-service --allow-for 5m";
