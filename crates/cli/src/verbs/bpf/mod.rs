//! `tinygram bpf`: the papers' send policies on this kernel's own sockets.

mod done;
mod group;
mod plan;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use tinygram_kernel::{Base, BpfPolicy};

use crate::outcome::{Done, Failure};
use crate::values::{Names, duration, size, span};
use plan::Plan;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which policy. `first-of-turn` and `every-segment` are ACK policies, of the end that receives
    #[arg(long, value_name = "NAME", value_parser = policies(), hide_possible_values = true, required_unless_present = "list")]
    policy: Option<&'static BpfPolicy>,

    /// Which of the kernel's congestion controls does all that is not holding
    #[arg(long, value_name = "NAME", value_parser = bases(), default_value = "cubic")]
    base: Base,

    /// The limit of the policy naglim, in bytes: a runt of at least this many goes [default: 65535]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    naglim: Option<u64>,

    /// The interval of the policy timed-coalescing (1us to 1s) [default: 0.1ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    interval: Option<Duration>,

    /// A control group's folder: connections that its programs open or accept from now on
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    cgroup: Option<PathBuf>,

    /// End after this long (500ms to 24h) instead of at Ctrl-C
    #[arg(long = "for", value_name = "LENGTH", value_parser = span, requires = "cgroup")]
    lasting: Option<Duration>,

    /// Show which policies are in the kernel, whoever loaded them
    #[arg(long, conflicts_with_all = ["policy", "cgroup", "command", "naglim", "interval"])]
    list: bool,

    /// The list as one JSON document
    #[arg(long, requires = "list")]
    json: bool,

    /// The program, with its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["cgroup", "list"])]
    command: Vec<std::ffi::OsString>,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    match Plan::of(args).map_err(Failure::Input)? {
        Plan::List => done::list(args.json),
        Plan::Hold(hold) => done::hold(&hold),
    }
}

fn policies() -> Names<&'static BpfPolicy> {
    Names::new(BpfPolicy::all().map(|policy| (policy.name, "", policy)))
}

fn bases() -> Names<Base> {
    Names::new([
        (Base::Cubic.name(), "Linux's usual one", Base::Cubic),
        (Base::Reno.name(), "RFC 5681", Base::Reno),
        (Base::Bbr.name(), "Paced, by a model of the path", Base::Bbr),
    ])
}

const EXAMPLES: &str = "Examples:
  tinygram bpf --policy strict-nagle -- python3 server.py
  tinygram bpf --policy minshall --base reno --cgroup /sys/fs/cgroup/my.slice --for 10m
  tinygram bpf --list
  tinygram policies                  what each policy does, and where it is from";
