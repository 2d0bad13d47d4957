//! `tinygram link`: two namespaces joined by an emulated link: rate, delay, loss and the rest.

mod done;
mod plan;
mod show;

use std::ffi::OsString;
use std::time::Duration;

use crate::flags::Impaired;
use crate::outcome::{Done, Failure};
use crate::supervise;
use crate::values::{count, duration, rate};
use plan::Plan;

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("loss", |flag| flag.help("Share of packets that are lost")),
    mut_arg("reorder", |flag| flag.help("Share of packets that are held back, so that others overtake")),
    mut_arg("duplicate", |flag| flag.help("Share of packets that are sent twice"))
)]
pub(crate) struct Args {
    /// Bits per second each way, IP headers included [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<u64>,

    /// Delay one way; a round trip takes twice as long
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0ms")]
    delay: Duration,

    #[command(flatten)]
    impairment: Impaired,

    /// How long those are held back
    // Beneath --reorder, which has the same place and the shorter name.
    #[arg(
        long, value_name = "TIME", value_parser = duration, default_value = "1ms", display_order = 3
    )]
    reorder_by: Duration,

    /// Packets that may wait for a link with a rate; what comes then is dropped
    #[arg(long, value_name = "PACKETS", value_parser = count(0_u32..=1_000_000), default_value_t = 1000)]
    queue: u32,

    /// Largest IP packet, in bytes
    #[arg(long, value_name = "BYTES", value_parser = count(1280_u16..=65_535), default_value_t = 1500)]
    mtu: u16,

    /// Seed of the random numbers: the same packets meet the same fate
    #[arg(long, value_name = "N", value_parser = count(0..=u64::MAX), default_value_t = 1)]
    seed: u64,

    /// Join by the kernel's own veth pair instead: no rate and no delay, nothing is lost or counted
    #[arg(long, conflicts_with_all = EMULATED)]
    veth: bool,

    /// Leave segmentation offload on over veth, so that segments are joined beneath TCP
    #[arg(long, requires = "veth")]
    offload: bool,

    /// Join these two, made by `ip netns add`, instead of new ones
    #[arg(long, value_names = ["FIRST", "SECOND"], num_args = 2)]
    namespaces: Vec<String>,

    /// Write the statistics as one JSON document
    #[arg(long)]
    json: bool,

    /// Run this in the first namespace, and end with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The options that only the emulator has, and those that would outlive a veth pair's end.
const EMULATED: [&str; 11] = [
    "rate",
    "delay",
    "loss",
    "reorder",
    "reorder_by",
    "duplicate",
    "queue",
    "mtu",
    "seed",
    "namespaces",
    "json",
];

const EXAMPLES: &str = "\
Examples:
  tinygram link --rate 20Mbit --delay 10ms --loss 1%           two namespaces, until Ctrl-C
  tinygram link --delay 10ms -- sh -c 'ping -c 3 $TINYGRAM_PEER'
  tinygram link --delay 10ms -- sh                             a shell at one end; the other end:
    nsenter --net=$TINYGRAM_PEER_NETNS python3 -m http.server &
  ip netns add a; ip netns add b; tinygram link --namespaces a b --rate 1Gbit
  tinygram link --veth -- ping -c 3 10.77.0.2                  as fast as the kernel is";

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::of(args).map_err(Failure::Input)?;
    let ended = done::link(&plan)?;
    let shown = show::ended(&plan, ended.carried.as_ref())?;
    match ended.status {
        Some(status) => supervise::end_like(status),
        None => Ok(shown),
    }
}
