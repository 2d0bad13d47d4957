//! `tinygram whatif`: what an option would do to a service, before anything is changed.

mod answer;
mod done;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod live;
mod plan;
mod seen;
mod show;

use std::time::Duration;

use crate::flags::Places;
use crate::outcome::{Done, Failure};
use crate::stop;
use crate::values::span;
use plan::Plan;

/// Say what an option would do to a running service, before anything is changed
///
/// Records for a while what the programs do on some connections (sizes of writes, gaps between them, think times), and
/// plays that again through tinygram's engine under the present settings and under others: the median and the 99th
/// percentile of a turn, segments a turn, packets a second, each with the interval in which nine of ten measurements are
/// expected. A turn lasts from the client's first write to the read that brings the last of the answer. Nothing is
/// changed. It takes root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose connections (as in set), or a capture (pcap, pcapng), and what they might have: nodelay=on|off, delack-max=8ms, pingpong=3, quickack=on, run, writev;
    /// without one, every remedy at either end
    #[arg(value_name = "TARGET|CAPTURE|OPTION=VALUE", required_unless_present_any = ["namespace", "pod", "container"])]
    words: Vec<String>,

    #[command(flatten)]
    places: Places,

    /// A send policy that the target's sockets might have, by name (tinygram policies lists them)
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    policy: Vec<String>,

    /// How long to record
    #[arg(long, value_name = "LENGTH", default_value = "10s", value_parser = span)]
    look: Duration,

    /// Look at the target's ends alone, as if the other ends were on other hosts
    #[arg(long)]
    one_end: bool,

    /// What decides which connections are recorded, and all that is drawn
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// One JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::of(args).map_err(Failure::Input)?;
    stop::listen()?;
    let foreseen = done::foresee(&plan)?;
    show::show(&plan, &foreseen)?;
    Ok(foreseen.outcome())
}

const EXAMPLES: &str = "Examples:
  tinygram whatif 8080                      every remedy, at either end
  tinygram whatif mosquitto nodelay=on
  tinygram whatif 8080 delack-max=8ms --look 30s --json
  tinygram whatif 8080 --policy minshall,off
  tinygram whatif trace.pcap                what a capture allows to tell

The exit code is 0 if something could be told, 1 if the target has no connections, 3 if too little was seen.";
