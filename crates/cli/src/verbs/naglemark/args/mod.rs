//! The command line: every flag, its help and its spelling. The plan interprets them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tinygram_engine::profile::Profile;
use tinygram_engine::receiver::ack_policy::{AckTimer, Registered as AckEntry};
use tinygram_engine::socket::copy_rule::CopyRule;
use tinygram_naglemark::hosts::{HostsKind, Model};
use tinygram_naglemark::workload::Waits;
use tinygram_naglemark::{MediumKind, TrialType};

use crate::flags::{Chance, Impaired, OUTPUT, Output, Packets, Processors, RUN};
use crate::values::{TypedLengths, ack_timer, count, duration, lengths, rate, size};

mod choices;
pub(super) mod costs;
pub(super) mod load;
pub(super) mod reports;

pub(crate) use choices::{BackendName, Chosen, Format, LengthChoice, LinkName};
use choices::{
    ack_policy_names, copy_rules, hosts_kinds, media, models, policy_names, profile_names,
    trial_types,
};

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) role: Option<Role>,

    /// What is measured: the simulator, sockets of the running kernel, or our own stack on real
    /// packets; with several, how far they agree
    #[arg(
        long, value_enum, value_name = "NAME,...", value_delimiter = ',', default_value = "sim",
        help_heading = BACKEND
    )]
    pub(crate) backend: Vec<BackendName>,

    /// Which hosts --backend sim simulates. On Linux's the policies are also those of a socket:
    /// default, nodelay, cork, more, quickack, flush-by-hand [default: paper]
    #[arg(long, value_name = "NAME", value_parser = hosts_kinds(), help_heading = BACKEND)]
    pub(crate) hosts: Option<HostsKind>,

    /// Rules of the stack, and of the server on Linux's simulated hosts [default: linux_6]
    #[arg(
        long, value_name = "NAME", value_parser = profile_names(), hide_possible_values = true,
        help_heading = BACKEND
    )]
    pub(crate) profile: Option<&'static Profile>,

    /// What joins the kernel's sockets, or the stack and the kernel [default: loopback; veth where the
    /// stack is measured, too, which has a TUN device of its own]
    #[arg(long, value_enum, value_name = "LINK", help_heading = BACKEND)]
    pub(crate) link: Option<LinkName>,

    /// Leave segmentation offload on over veth, so that segments are joined beneath TCP
    #[arg(long, help_heading = BACKEND)]
    pub(crate) offload: bool,

    /// Measure against `tinygram naglemark serve` on another host
    #[arg(long, value_name = "HOST:PORT", help_heading = BACKEND)]
    pub(crate) connect: Option<String>,

    /// Transfers before each cell that are not counted [default: 20]
    #[arg(
        long, value_name = "N", value_parser = count(0_u32..=100_000), help_heading = BACKEND
    )]
    pub(crate) warmup: Option<u32>,

    /// Policies to measure, in the paper's spelling or the project's; `all` for every one
    /// [default: the eleven of the paper's Table 3; all of `tinygram policies` on the stack; a
    /// socket's six where a kernel is measured]
    #[arg(
        long, visible_alias = "policy", value_name = "NAME,...", value_delimiter = ',',
        value_parser = policy_names(), hide_possible_values = true, help_heading = POLICIES
    )]
    pub(crate) variant: Vec<Chosen>,

    /// Limit of the policy naglim: a runt of at least this many bytes goes; 1 is TCP_NODELAY
    /// [default: 65535, which makes it strict-nagle]
    #[arg(long, value_name = "BYTES", value_parser = size, help_heading = POLICIES)]
    pub(crate) naglim: Option<u64>,

    /// Receiver's rule for acknowledging [default: the model's: bytes-consumed, or every-second to
    /// the letter]
    #[arg(
        long, value_name = "NAME", value_parser = ack_policy_names(), hide_possible_values = true,
        help_heading = POLICIES
    )]
    pub(crate) ack_policy: Option<&'static AckEntry>,

    /// How long an ACK may be delayed: cyclic:200ms is a tick that always runs, 40ms a timer
    /// started when the ACK is first delayed [default: the model's: BSD's tick of 200 ms]
    #[arg(long, value_name = "TIMER", value_parser = ack_timer, help_heading = POLICIES)]
    pub(crate) ack_timer: Option<AckTimer>,

    /// How the server waits for the next request. The paper's server reads; `computing` is busy for 5 ms
    /// after writing its answer, then reads
    #[arg(long, value_enum, default_value_t = Server::Reading, value_name = "KIND", help_heading = POLICIES)]
    pub(crate) server: Server,

    /// Let the receiver infer the sender's buffer size, as Tru64 did: the paper's Tables 6 and 7
    #[arg(long, help_heading = POLICIES)]
    pub(crate) infer: bool,

    /// How the sender's kernel copies a write into the socket buffer
    #[arg(
        long, value_parser = copy_rules(), default_value = "mclbytes", value_name = "RULE",
        help_heading = POLICIES
    )]
    pub(crate) copy_rule: CopyRule,

    /// Cluster size of the copy rule mclbytes [default: 8192]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = POLICIES)]
    pub(crate) mclbytes: Option<u64>,

    /// Sizes of the application's writes, from 1 byte on [default: 4K,32K,128K; 4K on sockets]
    #[arg(
        long, visible_alias = "write-size", value_name = "SIZE,...", value_delimiter = ',',
        value_parser = size, help_heading = WORKLOAD
    )]
    pub(crate) app_buffer: Vec<u64>,

    /// Sizes of the sender's socket buffer [default: 16K,64K,128K; 64K on sockets]
    #[arg(
        long, value_name = "SIZE,...", value_delimiter = ',', value_parser = size,
        help_heading = WORKLOAD
    )]
    pub(crate) socket_buffer: Vec<u64>,

    /// Size of the receiver's socket buffer [default: the model's: 64 KB, or 32 KB to the letter]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = WORKLOAD)]
    pub(crate) receive_buffer: Option<u64>,

    /// Trial types: s, S sequential lengths; r, R random; s, r one connection per request; S, R
    /// one for all [default: all that the lengths allow]
    #[arg(
        long, value_parser = trial_types(), value_name = "TYPE,...", value_delimiter = ',',
        help_heading = WORKLOAD
    )]
    pub(crate) trial: Vec<TrialType>,

    /// Message lengths: a series, one length, random ones, or a series and random ones
    /// [default: 100..100000/100,random:1..100000]
    #[arg(
        long, value_name = "LENGTHS", value_delimiter = ',', value_parser = lengths,
        help_heading = WORKLOAD
    )]
    pub(crate) lengths: Vec<TypedLengths>,

    /// Transfers per trial; a series begins again when it is used up
    /// [default: the series' own number; 1000 random ones]
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=MAX_TRANSFERS),
        help_heading = WORKLOAD
    )]
    pub(crate) transfers: Option<u32>,

    /// Requests per connection in the trial types S and R [default: all on one connection]
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=MAX_TRANSFERS),
        help_heading = WORKLOAD
    )]
    pub(crate) requests_per_connection: Option<u32>,

    /// How often the trial type R draws a length [default: per-request]
    #[arg(long, value_enum, value_name = "HOW", help_heading = WORKLOAD)]
    pub(crate) length_choice: Option<LengthChoice>,

    /// Media: 10 Mbit/s Ethernet, 100 Mbit/s FDDI, or a link of any rate and delay
    #[arg(
        long, value_parser = media(), value_name = "NAME,...", value_delimiter = ',',
        default_value = "ethernet,fddi", help_heading = PATH
    )]
    pub(crate) medium: Vec<MediumKind>,

    /// Rate of the point-to-point link, bits per second [default: 1G]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = PATH)]
    pub(crate) rate: Option<u64>,

    /// One-way delay added to the point-to-point link [default: 0ms]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PATH)]
    pub(crate) delay: Option<Duration>,

    /// Round-trip time added to the path on every medium, half of it each way [default: 0ms]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PATH)]
    pub(crate) rtt: Option<Duration>,

    /// Maximum segment size [default: 1460; FDDI 4312]
    #[arg(
        long, value_name = "BYTES", value_parser = count(1_u16..=65_495),
        help_heading = PATH
    )]
    pub(crate) mss: Option<u16>,

    #[command(flatten, next_help_heading = PATH)]
    pub(crate) impairment: Impaired,

    /// What to simulate: what the paper's text says, or that with the details fitted to its tables
    #[arg(
        long, value_parser = models(), default_value = "fitted", value_name = "MODEL",
        help_heading = RUN
    )]
    pub(crate) model: Model,

    /// A transfer is delayed if it takes more than this many times the estimate
    #[arg(
        long, value_name = "2|3|4", value_parser = count(2_u8..=4),
        default_value_t = 3, help_heading = RUN
    )]
    pub(crate) multiplier: u8,

    /// How often each trial is repeated, each time with other random numbers
    /// [default: 10; 1 on sockets]
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=100_000), help_heading = RUN
    )]
    pub(crate) repetitions: Option<u32>,

    #[command(flatten)]
    pub(crate) chance: Chance,

    #[command(flatten)]
    pub(crate) processors: Processors,

    /// Print the paper's score with each of ours
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) paper: bool,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) results: Output,

    /// Write one self-contained page too: the tables, and plots to hover over and zoom into
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,

    /// Write the plots too, one SVG file each, as the paper's Figures 7 to 12
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) packets: Packets,

    /// End with a line on standard error: transfers and segments per second, memory
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) stats: bool,
}

/// What is done instead of measuring one transfer at a time.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum Role {
    /// Answer clients on other hosts that measure with --connect, until Ctrl-C
    ///
    /// Anybody who can reach the address can have it send as much as they like: for laboratories.
    Serve {
        /// Address and port to listen on
        #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:7780")]
        listen: SocketAddr,
    },
    Load(Box<load::Args>),
    Reports(reports::Args),
    Costs(costs::Args),
}

/// The most transfers per trial; more would take days, and all memory.
pub(super) const MAX_TRANSFERS: u32 = 100_000_000;

const BACKEND: &str = "Backend";
const POLICIES: &str = "Policies";
const WORKLOAD: &str = "Workload";
const PATH: &str = "Path";

const EXAMPLES: &str = "\
Examples:
  tinygram naglemark --paper                        Tables 4 and 5, ours and the paper's
  tinygram naglemark --infer --medium fddi          Table 7
  tinygram naglemark --policy off,dldet,flush-on-block --write-size 1,256,4K --trial S
  tinygram naglemark --medium point-to-point --rate 100M --rtt 80ms --loss 1%
  tinygram naglemark --backend kernel --link veth   this kernel's sockets, what each option does
  tinygram naglemark --backend sim,kernel --hosts linux-veth --link veth --policy default,nodelay
  tinygram naglemark --backend bpf                  this kernel under the papers' policies
  tinygram naglemark --backend stack                every policy of ours on real packets
  tinygram naglemark --backend sim,stack --hosts linux-tun --policy nagle,minshall,flush-on-block
  tinygram naglemark --html naglemark.html --format json --output naglemark.json
  tinygram naglemark --medium fddi --policy nagle --app-buffer 32K --socket-buffer 64K --trial S \
      --lengths 13000 --transfers 3 --trace - --pcapng stall.pcapng";

/// What kind of program the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Server {
    /// Sleeps in its reads
    Reading,
    /// Sleeps in poll
    Polling,
    /// Polls with a timeout of 0, over and over (busy polling)
    Spinning,
    /// Computes for 5 ms after each answer, and then reads: what a watchdog is for
    Computing,
}

impl From<Server> for Waits {
    fn from(server: Server) -> Self {
        match server {
            Server::Reading => Self::Reading,
            Server::Polling => Self::Polling,
            Server::Spinning => Self::Spinning,
            Server::Computing => Self::ReadingAfter(tinygram_naglemark::Duration::from_millis(5)),
        }
    }
}
