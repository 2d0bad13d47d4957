//! `tinygram run`: makes an unmodified program coalesce its small writes and flush when it waits.
//! book/src/mend/run.md describes what it does to a program, and what it costs.

mod c_library;
mod cgroup;
mod done;
// The rule is put into Go and static programs on x86-64 only.
#[cfg_attr(not(target_arch = "x86_64"), path = "elsewhere.rs")]
mod graft;
pub(crate) mod library;
mod plan;
pub(crate) mod reach;
mod show;
mod sites;
mod start;
mod stats;
mod witness;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tinygram_coalesce::{Only, Policy, Rules};

use crate::host_flags::JournalFolder;
use crate::outcome::{Done, Failure};
pub(crate) use cgroup::{abandoned, own_group, remove_abandoned};
use plan::Plan;
pub(crate) use stats::{Awaited, Counted, Tracing};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do with small writes
    #[arg(long, default_value = Policy::FlushOnBlock.name(), value_parser = policies())]
    policy: Policy,

    /// The longest a byte may be held while the program runs on without waiting (0.1ms to 100ms)
    #[arg(long, default_value = "1ms", value_name = "TIME", value_parser = parse_watchdog)]
    watchdog: Duration,

    /// Hold only writes shorter than this, in bytes (1 to 65536)
    #[arg(long, default_value_t = Rules::default().hold_below as u32, value_name = "BYTES",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hold_below: u32,

    /// Hold from the first write on, even if answers are rare: the fewest segments, for up to 50 us of
    /// CPU for each answer that comes alone
    #[arg(long)]
    eager: bool,

    /// Touch only connections of this service port or to this network; may be given up to 8 times
    #[arg(long, value_name = "PORT|CIDR", value_parser = parse_only)]
    only: Vec<Only>,

    /// When the program ends, show per remote address what was done, on standard error
    #[arg(long, value_enum, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    stats: Option<Format>,

    /// Write the statistics to this file instead
    #[arg(long, value_name = "FILE", requires = "stats")]
    stats_to: Option<PathBuf>,

    /// Unpack the library to this folder, or take it from there; else it is looked for beside this
    /// program and in /usr/lib/tinygram, and unpacked to /var/cache/tinygram (root) or the user's
    /// cache folder
    #[arg(long = "library-dir", value_name = "DIR", conflicts_with = "cgroup")]
    preload_dir: Option<PathBuf>,

    /// For programs no library can reach: let the kernel set TCP_NODELAY on every connection of the
    /// program's control group; nothing is held
    #[arg(long, conflicts_with_all = ["policy", "watchdog", "hold_below", "eager", "only", "stats"])]
    cgroup: bool,

    /// Switch this running process, which was started under run, to --policy (flush-on-block or nodelay),
    /// and show what it has done so far
    #[arg(long, value_name = "PID", conflicts_with_all = ["watchdog", "hold_below", "eager", "only", "stats",
          "cgroup", "preload_dir", "program"])]
    switch: Option<u32>,

    /// Put the rule into this running Go or static process; its threads stand still for some milliseconds at most
    #[arg(long, value_name = "PID", conflicts_with_all = ["switch", "stats", "cgroup", "preload_dir", "program"])]
    attach: Option<u32>,

    /// Put back what was in this process before --attach, also if its watchdog was killed
    #[arg(long, value_name = "PID", conflicts_with_all = ["attach", "switch", "policy", "watchdog", "hold_below", "eager",
          "only", "stats", "cgroup", "preload_dir", "program"])]
    detach: Option<u32>,

    /// Trace a Go or static program for a second, and name the places where it writes or waits past the
    /// rule
    #[arg(long, conflicts_with_all = ["switch", "detach", "cgroup"])]
    verify: bool,

    /// Cover a program that was built with a version of Go that was not tried, if its first calls are
    /// like those of the versions that were
    #[arg(long = "try", conflicts_with_all = ["switch", "detach", "cgroup"])]
    tries: bool,

    #[command(flatten)]
    journal: JournalFolder,

    /// The program and its arguments
    #[arg(
        last = true,
        required_unless_present_any = ["switch", "attach", "detach"],
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    match Plan::of(args).map_err(Failure::Input)? {
        Plan::Switch { pid, policy } => done::switch(pid, policy),
        Plan::Attach { pid, how, journal } => graft::attach(pid, &how, &journal),
        Plan::Detach { pid, journal } => graft::detach(pid, &journal),
        Plan::InGroup(words) => done::in_control_group(&words),
        Plan::Load {
            start,
            reached,
            folder,
        } => done::load(&start, &reached, folder.as_deref()),
        Plan::Graft { start, how } => graft::run(&start, &how),
    }
}

fn policies() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(
        Policy::ALL.map(|(_, name, what)| clap::builder::PossibleValue::new(name).help(what)),
    )
    .map(|name| Policy::named(&name).expect("only names are possible"))
}

pub(crate) fn parse_only(text: &str) -> Result<Only, String> {
    Only::parse(text).ok_or_else(|| {
        "accepted: a port from 1 to 65535, an address, or a network such as 10.0.0.0/8".to_owned()
    })
}

fn parse_watchdog(text: &str) -> Result<Duration, String> {
    let unit = |suffix: &str, per_second: f64| {
        let number: f64 = text.strip_suffix(suffix)?.parse().ok()?;
        Some(number / per_second)
    };
    unit("ms", 1e3)
        .or_else(|| unit("us", 1e6))
        .filter(|seconds| (0.000_1..=0.1).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "accepted: 0.1ms to 100ms, such as 1ms or 500us".to_owned())
}
