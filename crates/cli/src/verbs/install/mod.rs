//! `tinygram install`: makes what `run` and `cure` do last, through systemd and containers.

mod config;
mod done;
mod files;
mod manifest;
mod names;
mod policy;

use std::path::PathBuf;
use std::time::Duration;

use tinygram_coalesce::Only;

use crate::outcome::{Done, Failure};
use crate::values::span;
use crate::verbs::run::parse_only;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A service that is to hold and flush as under `run`, from its next start on
    #[arg(long, value_name = "UNIT")]
    unit: Vec<String>,

    /// What the library does in these services: flush-on-block or nodelay
    #[arg(
        long,
        value_name = "POLICY",
        default_value = "flush-on-block",
        requires = "unit"
    )]
    policy: String,

    /// Touch only connections of this service port or to this network; may be given up to 8 times
    #[arg(long, value_name = "PORT|CIDR", value_parser = parse_only, requires = "unit")]
    only: Vec<Only>,

    /// A port, a unit or a control group's path whose stalls a service is to cure while they last (`cure --watch`)
    #[arg(long, value_name = "TARGET")]
    cure: Vec<String>,

    /// How long what is kept stays before it is tried anew (1m to 24h)
    #[arg(long, value_name = "LENGTH", default_value = "1h", value_parser = span, requires = "cure")]
    watch: Duration,

    /// The policies of this file, and no others: those that were installed from a file before and are not in it are removed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["unit", "cure"])]
    config: Option<PathBuf>,

    /// Print what a container's image takes, and write nothing
    #[arg(long, conflicts_with_all = ["unit", "cure", "config", "remove", "list"])]
    container: bool,

    /// Take out everything that was installed
    #[arg(long, conflicts_with_all = ["unit", "cure", "config", "list"])]
    remove: bool,

    /// Show what is installed
    #[arg(long, conflicts_with_all = ["unit", "cure", "config"])]
    list: bool,

    /// The root directory of an image instead of this system's
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,

    /// Where tinygram will be when the service starts [default: this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    match () {
        () if args.container => done::container(args),
        () if args.remove => done::remove(args),
        () if args.list => done::list(args),
        () => done::install(args),
    }
}

const EXAMPLES: &str = "Examples:
  tinygram install --unit myapp.service --dry-run
  tinygram install --unit myapp.service --only 8080
  tinygram install --cure 8080              for programs that no library reaches
  tinygram install --config /etc/tinygram/policies.toml
  tinygram install --container
  tinygram install --remove";
