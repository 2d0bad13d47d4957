//! What is typed: every flag, its help and its spelling.

use std::path::PathBuf;

use clap::ValueEnum;
use tinygram_engine::profile::Profile;
use tinygram_engine::receiver::ack_policy::{AckPolicy, Registered as AckEntry};
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};

use crate::flags::{Chance, OUTPUT, Output, Packets, RUN};
use crate::values::{Names, count, size};

/// Tell whether a pair of socket buffers deadlocks a bulk transfer, how, and what helps
///
/// If the sender's buffer is small compared with the MSS or the receiver's buffer, less than a full segment
/// may remain while the data sent is too little to be acknowledged at once. Only the receiver's timer then
/// continues the transfer. By the inequalities of Moldeklev & Gunningberg,
/// "Deadlock situations in TCP over ATM", with the numbers filled in, and by the simulator, for each
/// of their cures, too.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// Sender's socket buffer
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    pub(crate) send_buffer: u64,

    /// Receiver's socket buffer
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    pub(crate) receive_buffer: u64,

    /// Maximum segment size, in bytes
    #[arg(short, long, value_name = "BYTES", value_parser = count(1_u16..=65_495))]
    pub(crate) mss: u16,

    /// Bytes of each write, and the most that a read takes
    #[arg(short, long, value_name = "SIZE", value_parser = size, default_value = "8K")]
    pub(crate) write: u64,

    /// Stack at both ends
    #[arg(
        long, value_name = "NAME", value_parser = profiles(), default_value = "sunos_4_1",
        help_heading = RULES
    )]
    pub(crate) profile: &'static Profile,

    /// Send policy; see `tinygram policies` [default: the profile's]
    #[arg(
        long, value_name = "NAME", value_parser = policies(), hide_possible_values = true,
        help_heading = RULES
    )]
    pub(crate) policy: Option<&'static Registered>,

    /// ACK policy; see `tinygram policies` [default: the profile's]
    #[arg(
        long, value_name = "NAME", value_parser = ack_policies(), hide_possible_values = true,
        help_heading = RULES
    )]
    pub(crate) ack_policy: Option<&'static AckEntry>,

    /// Runs of each simulation, each at another phase of the receiver's timer
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=1000), default_value_t = 5,
        help_heading = RUN
    )]
    pub(crate) runs: u32,

    #[command(flatten)]
    pub(crate) chance: Chance,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) results: Output,

    /// Draw the plane of buffer sizes too, simulated, with the inequalities over it, as SVG
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) plane: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) packets: Packets,
}

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    Text,
    /// One document, schema tinygram.deadlock/1
    Json,
}

fn profiles() -> Names<&'static Profile> {
    Names::new(
        Profile::LIST
            .iter()
            .map(|profile| (profile.name, profile.summary, profile)),
    )
}

fn policies() -> Names<&'static Registered> {
    Names::new(
        SendPolicy::LIST
            .iter()
            .map(|entry| (entry.name, entry.summary, entry)),
    )
}

fn ack_policies() -> Names<&'static AckEntry> {
    Names::new(
        AckPolicy::LIST
            .iter()
            .map(|entry| (entry.name, entry.summary, entry)),
    )
}

const RULES: &str = "Rules";

const EXAMPLES: &str = "\
Examples:
  tinygram deadlock --send-buffer 16K --receive-buffer 32K --mss 9204
  tinygram deadlock -s 8K -r 64K -m 8960 --profile linux_6
  tinygram deadlock -s 16K -r 32K -m 9204 --plane plane.svg --format json
  tinygram deadlock -s 16K -r 32K -m 9204 --trace - --pcapng deadlock.pcapng";
