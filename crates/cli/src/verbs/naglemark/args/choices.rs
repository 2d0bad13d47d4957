//! The choices that flags take by name, each with its spelling and its line of help.

use clap::ValueEnum;
use serde::Serialize;
use tinygram_engine::profile::Profile;
use tinygram_engine::receiver::ack_policy::{AckPolicy, Registered as AckEntry};
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};
use tinygram_engine::socket::copy_rule::{CopyRule, Mclbytes, SunOs, WholeWrite};
use tinygram_naglemark::hosts::{HostsKind, Model, PaperHosts};
use tinygram_naglemark::{MediumKind, NOMINAL_RATE, SocketPolicy, TrialType};

use crate::values::Names;

/// A TCP that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BackendName {
    /// The simulator, in virtual time
    Sim,
    /// The running kernel's sockets, in real time
    Kernel,
    /// The same, under the papers' send policies as BPF (the book: kernel), in real time; root
    Bpf,
    /// Our own stack over a TUN device as the sender, the running kernel as the receiver, in real time
    Stack,
}

impl BackendName {
    /// Returns the name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Kernel => "kernel",
            Self::Bpf => "bpf",
            Self::Stack => "stack",
        }
    }

    /// Returns whether the running kernel's sockets answer.
    pub(crate) const fn is_kernel(self) -> bool {
        matches!(self, Self::Kernel | Self::Bpf)
    }

    /// Returns whether packets are real.
    pub(crate) fn is_real(self) -> bool {
        self != Self::Sim
    }
}

/// What joins the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LinkName {
    /// The loopback device; its MSS is 65483 unless --mss says otherwise
    Loopback,
    /// A veth pair between two namespaces made for the run, MTU 1500, offloads off
    Veth,
    /// The same joined by the link emulator, with --rate, --rtt, --loss and the rest; for the stack, too
    Emulated,
}

impl LinkName {
    /// Returns the name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Veth => "veth",
            Self::Emulated => "emulated",
        }
    }
}

/// A policy, or all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chosen {
    All,
    One(&'static Registered),
    /// A policy that any socket can be told.
    Socket(SocketPolicy),
}

impl Chosen {
    /// Returns the name as typed.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::One(entry) => entry.name,
            Self::Socket(policy) => policy.name(),
        }
    }
}

/// How often a random length is drawn on a shared connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LengthChoice {
    /// A new length for each request
    PerRequest,
    /// One length for all requests of a connection
    PerConnection,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    Table,
    /// One document, schema tinygram.naglemark/1
    Json,
    /// One line per cell
    Csv,
    /// For a document
    Markdown,
    /// The cells (the book: tables) as a Parquet file
    Parquet,
    /// The cells (the book: tables) as an Arrow file
    Arrow,
}

pub(super) fn policy_names() -> Names<Chosen> {
    let one = |entry: &'static Registered| (entry.name, entry.summary, Chosen::One(entry));
    let all = ("all", "every policy", Chosen::All);
    let socket = |policy: SocketPolicy| (policy.name(), policy.summary(), Chosen::Socket(policy));
    let registered = SendPolicy::LIST.iter().map(one);
    Names::new(registered.chain(SocketPolicy::ALL.map(socket)).chain([all]))
}

/// Returns the trial types, in the order in which equal scores are reported.
pub(super) fn trial_types() -> Names<TrialType> {
    let one = |trial_type: TrialType| {
        let (letter, help) = match trial_type {
            TrialType::SequentialOne => ("S", "sequential lengths, one connection for all"),
            TrialType::SequentialEach => ("s", "sequential lengths, a connection per request"),
            TrialType::RandomOne => ("R", "random lengths, one connection for all"),
            TrialType::RandomEach => ("r", "random lengths, a connection per request"),
        };
        (letter, help, trial_type)
    };
    Names::new(TrialType::ALL.map(one))
}

pub(super) fn media() -> Names<MediumKind> {
    let point_to_point = MediumKind::PointToPoint {
        bits_per_second: NOMINAL_RATE,
    };
    Names::new([
        ("ethernet", "10 Mbit/s, CSMA/CD", MediumKind::Ethernet),
        (
            "ethernet-full-duplex",
            "10 Mbit/s through a switch: both ways at once",
            MediumKind::EthernetFullDuplex,
        ),
        ("fddi", "100 Mbit/s token ring", MediumKind::Fddi),
        (
            "point-to-point",
            "Full duplex, of any rate and delay",
            point_to_point,
        ),
    ])
}

/// Returns the rules by which a write becomes pieces in the socket buffer.
pub(super) fn copy_rules() -> Names<CopyRule> {
    let clusters = Mclbytes {
        cluster: PaperHosts::MCLBYTES,
        low_water: Mclbytes::LOW_WATER,
    };
    Names::new([
        (
            "mclbytes",
            "BSD: clusters of MCLBYTES",
            CopyRule::Mclbytes(clusters),
        ),
        (
            "sunos",
            "SunOS 4.1: pieces of 4096 bytes in clusters of 1 KiB",
            CopyRule::SunOs(SunOs::AS_SHIPPED),
        ),
        (
            "whole-write",
            "The whole write at once, as far as there is space",
            CopyRule::WholeWrite(WholeWrite),
        ),
    ])
}

pub(super) fn hosts_kinds() -> Names<HostsKind> {
    Names::new(HostsKind::ALL.map(|kind| (kind.name(), kind.summary(), kind)))
}

pub(super) fn models() -> Names<Model> {
    Names::new([
        ("literal", "What the paper's text says", Model::Literal),
        (
            "fitted",
            "With the details found by fitting the paper's tables; the output marks them",
            Model::Fitted,
        ),
    ])
}

pub(super) fn profile_names() -> Names<&'static Profile> {
    Names::new(
        Profile::LIST
            .iter()
            .map(|profile| (profile.name, profile.summary, profile)),
    )
}

pub(super) fn ack_policy_names() -> Names<&'static AckEntry> {
    Names::new(
        AckPolicy::LIST
            .iter()
            .map(|entry| (entry.name, entry.summary, entry)),
    )
}
