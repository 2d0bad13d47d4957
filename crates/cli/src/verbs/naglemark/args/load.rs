//! The command line of `naglemark load`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Serialize, Serializer};
use tinygram_engine::receiver::ack_policy::{AckTimer, Registered as AckEntry};
use tinygram_naglemark::load::{Arrivals, Server, Sizes};

mod values;

use super::choices::{Chosen, ack_policy_names, policy_names};
use super::costs::{Costs, costs};
pub(in super::super) use values::{Level, Load};
use values::{arrivals, load, server, sizes};

use crate::echoed::{each_in_words, in_words, microseconds};
use crate::flags::{Chance, OUTPUT, Output, Processors, RUN};
use crate::values::{ack_timer, count, duration, rate, shown_ack_timer};

/// Measure policies under load: many connections, and requests that do not wait for answers.
///
/// Two hosts of today, one with all clients and one server, each with one processor: simulated, or with --backend kernel or bpf
/// the running kernel's sockets in two namespaces, in real time. A latency counts from the time when a request was due, so
/// waiting in a queue is never left out.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Policies to measure, in the paper's spelling or the project's [default: nagle,minshall,off,dldet,flush-on-block; with
    /// --backend kernel default,nodelay; with --backend bpf default,nodelay,nagle]
    #[arg(
        long, value_name = "NAME,...", value_delimiter = ',', value_parser = policy_names(),
        hide_possible_values = true, help_heading = POLICIES
    )]
    #[serde(skip)]
    pub(in super::super) policy: Vec<Chosen>,

    /// Whose policy it is; the other end has --other
    #[arg(long, value_enum, default_value_t = Ends::Both, value_name = "WHO", help_heading = POLICIES)]
    #[serde(serialize_with = "typed")]
    pub(in super::super) ends: Ends,

    /// The other end's policy with --ends server or client: one name, of those that --policy takes [default: Linux's]
    #[arg(
        long, value_name = "NAME", value_parser = policy_names(), hide_possible_values = true, help_heading = POLICIES
    )]
    #[serde(serialize_with = "named")]
    pub(in super::super) other: Option<Chosen>,

    /// Both ends' rules for acknowledging [default: linux]
    #[arg(
        long, value_name = "NAME,...", value_delimiter = ',', value_parser = ack_policy_names(),
        hide_possible_values = true, help_heading = POLICIES
    )]
    #[serde(skip)]
    pub(in super::super) ack_policy: Vec<&'static AckEntry>,

    /// How long an ACK may be delayed: 40ms is a timer started when the ACK is first delayed [default: 40ms]
    #[arg(long, value_name = "TIMER", value_parser = ack_timer, help_heading = POLICIES)]
    #[serde(serialize_with = "timer")]
    pub(in super::super) ack_timer: Option<AckTimer>,

    /// Requests a second, as a share of the capacity (50%) or as a number. The capacity is measured: the most answers a
    /// second of any of the policies when every connection is full. steps:10%/80%/20% and ramps:10%/80% are courses: each part
    /// lasts for a --window, and the JSON document has the numbers of each
    #[arg(
        long, value_name = "LOAD,...", value_delimiter = ',', value_parser = load,
        default_value = "1%,5%,10%,20%,30%,40%,50%,60%,70%,80%,85%,90%,95%,100%", help_heading = LOAD
    )]
    #[serde(serialize_with = "each_in_words")]
    pub(in super::super) loads: Vec<Load>,

    /// How requests come: poisson, or bursts:N, N at one instant for one connection
    #[arg(long, value_name = "HOW", value_parser = arrivals, default_value = "poisson", help_heading = LOAD)]
    #[serde(serialize_with = "in_words")]
    pub(in super::super) arrivals: Arrivals,

    /// Measure a closed loop, too: every connection asks again as soon as it may
    #[arg(long, help_heading = LOAD)]
    pub(in super::super) closed: bool,

    /// How many connections there are
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=64), default_value_t = 16, help_heading = LOAD
    )]
    pub(in super::super) connections: u32,

    /// Most requests under way on a connection: 1 waits for each answer, more is pipelining
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=10_000), default_value_t = 1, help_heading = LOAD
    )]
    pub(in super::super) depth: u32,

    /// Lengths of requests: 100, random:100..1000, exp:1000 or pareto:100..100000:1.2
    #[arg(long, value_name = "SIZES", value_parser = sizes, default_value = "100", help_heading = LOAD)]
    #[serde(serialize_with = "in_words")]
    pub(in super::super) request: Sizes,

    /// Lengths of answers
    #[arg(long, value_name = "SIZES", value_parser = sizes, default_value = "400", help_heading = LOAD)]
    #[serde(serialize_with = "in_words")]
    pub(in super::super) answer: Sizes,

    /// Writes for a request
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=1000), default_value_t = 1, help_heading = LOAD
    )]
    pub(in super::super) request_writes: u32,

    /// Writes for an answer
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=1000), default_value_t = 1, help_heading = LOAD
    )]
    pub(in super::super) answer_writes: u32,

    /// What is measured
    #[arg(long, value_enum, default_value_t = BackendName::Sim, value_name = "NAME", help_heading = HOSTS)]
    #[serde(skip)]
    pub(in super::super) backend: BackendName,

    /// The server: event-loop, event-loop:N with N threads on its processor, at most one for each connection, or threads,
    /// one for each connection
    #[arg(long, value_name = "KIND", value_parser = server, default_value = "event-loop", help_heading = HOSTS)]
    #[serde(serialize_with = "in_words")]
    pub(in super::super) server: Server,

    /// Write the answers to all requests of one read together, in one write
    #[arg(long, conflicts_with = "answer_writes", help_heading = HOSTS)]
    pub(in super::super) gather: bool,

    /// How long a thread of the server sleeps for a request before it computes; an event loop serves nobody meanwhile
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0us", help_heading = HOSTS)]
    #[serde(rename = "pause_us", serialize_with = "microseconds")]
    pub(in super::super) pause: Duration,

    /// How long the server computes for a request
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2us", help_heading = HOSTS)]
    #[serde(rename = "service_us", serialize_with = "microseconds")]
    pub(in super::super) service: Duration,

    /// How long the client computes for an answer
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0us", help_heading = HOSTS)]
    #[serde(rename = "digest_us", serialize_with = "microseconds")]
    pub(in super::super) digest: Duration,

    /// What calls and segments cost both hosts: linux-veth, measured on one machine over a veth pair, where the sender pays for
    /// the receiver's work on a segment; linux-tun, orders of magnitude, not measured; or a file of `naglemark costs`, measured
    /// on yours
    #[arg(long, value_name = "NAME|FILE", value_parser = costs, default_value = Costs::DEFAULT, help_heading = HOSTS)]
    #[serde(serialize_with = "in_words")]
    pub(in super::super) costs: Costs,

    /// Rate of the line between the hosts, bits per second [default: as fast as memory]
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = HOSTS)]
    pub(in super::super) rate: Option<u64>,

    /// Round-trip time beyond the line
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0us", help_heading = HOSTS)]
    #[serde(rename = "rtt_us", serialize_with = "microseconds")]
    pub(in super::super) rtt: Duration,

    /// Time at the beginning of a trial that is not measured
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "200ms", help_heading = RUN)]
    #[serde(rename = "warmup_ms", serialize_with = "milliseconds")]
    pub(in super::super) warmup: Duration,

    /// Time that is measured; after it, answers are waited for as long again
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "500ms", help_heading = RUN)]
    #[serde(rename = "window_ms", serialize_with = "milliseconds")]
    pub(in super::super) window: Duration,

    /// How often each trial is repeated, each time with other random numbers
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=1000), default_value_t = 5, help_heading = RUN
    )]
    pub(in super::super) repetitions: u32,

    /// The knee is the highest load tried by its own search at which the server keeps up and the 99th percentile is at
    /// most this many times the unloaded server's
    #[arg(
        long, value_name = "TIMES", value_parser = count(2_u32..=1000), default_value_t = 5, help_heading = RUN
    )]
    pub(in super::super) knee: u32,

    /// Do not search for knees, which takes most of the time with real packets
    #[arg(long, conflicts_with = "knee", help_heading = RUN)]
    #[serde(skip)]
    pub(in super::super) no_knees: bool,

    #[command(flatten)]
    #[serde(flatten)]
    pub(in super::super) chance: Chance,

    #[command(flatten)]
    #[serde(skip)]
    pub(in super::super) processors: Processors,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT", help_heading = OUTPUT)]
    #[serde(skip)]
    pub(in super::super) format: Format,

    #[command(flatten)]
    #[serde(skip)]
    pub(in super::super) results: Output,

    /// Write charts too, one SVG file for each ACK policy and latency; with several ACK policies one for each policy, too
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    #[serde(skip)]
    pub(in super::super) svg: Option<PathBuf>,
}

/// A TCP that can be put under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum BackendName {
    /// The simulator, in virtual time
    Sim,
    /// The running kernel's sockets over a veth pair, in real time; root
    Kernel,
    /// The same, also under the papers' send policies as BPF (the book: kernel)
    Bpf,
}

/// The ends that have the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum Ends {
    /// Clients and server
    Both,
    /// The server
    Server,
    /// The clients
    Client,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum Format {
    /// For reading in a terminal
    Table,
    /// One document, schema tinygram.naglemark-load/1
    Json,
    /// One line per row
    Csv,
    /// For a document
    Markdown,
}

fn typed<S: Serializer>(ends: &Ends, to: S) -> Result<S::Ok, S::Error> {
    let named = ends.to_possible_value();
    to.serialize_str(named.as_ref().map_or("", |it| it.get_name()))
}

/// Writes a policy as it is typed; absent if it is Linux's own.
fn named<S: Serializer>(policy: &Option<Chosen>, to: S) -> Result<S::Ok, S::Error> {
    policy.as_ref().map(Chosen::name).serialize(to)
}

fn milliseconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_nanos() as f64 / 1e3 / 1e3)
}

/// Writes a timer as it is typed; absent if it is Linux's.
fn timer<S: Serializer>(timer: &Option<AckTimer>, to: S) -> Result<S::Ok, S::Error> {
    timer.as_ref().map(shown_ack_timer).serialize(to)
}

const POLICIES: &str = "Policies";
const LOAD: &str = "Load";
const HOSTS: &str = "Hosts";

const EXAMPLES: &str = "\
Examples:
  tinygram naglemark load --answer-writes 2              two writes an answer
  tinygram naglemark load --connections 4 --depth 32 --request 50 --answer 50 --rtt 200us
  tinygram naglemark load --loads 10%,50%,90% --ack-policy linux,every-segment --svg charts
  tinygram naglemark load --backend bpf --no-knees --loads 10%,50%,90% --repetitions 10     this kernel, in real time";
