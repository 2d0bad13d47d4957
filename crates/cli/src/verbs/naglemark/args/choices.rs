//! What flags take by name: every choice, its spelling and its line of help.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::Serialize;
use tinygram_engine::profile::Profile;
use tinygram_engine::receiver::ack_policy::{AckPolicy, Registered as AckEntry};
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};

use super::super::sockets::policy::Policy;
use crate::values::Names;

/// A TCP that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BackendName {
    /// The simulator, in virtual time
    Sim,
    /// The running kernel's sockets, in real time
    Kernel,
    /// Our own stack over a TUN device as the sender, the running kernel as the receiver, in real time
    Stack,
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
    /// As typed.
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
    /// What any socket can be told.
    Linux(Policy),
}

/// How a write becomes pieces in the socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CopyRule {
    /// BSD: clusters of MCLBYTES
    Mclbytes,
    /// SunOS 4.1: pieces of 4096 bytes in clusters of 1 KiB
    #[value(name = "sunos")]
    #[serde(rename = "sunos")]
    SunOs,
    /// The whole write at once, as far as there is space
    WholeWrite,
}

/// The paper's Table 2. The order is the one in which equal scores are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trial {
    SequentialOne,
    SequentialEach,
    RandomOne,
    RandomEach,
}

impl Trial {
    /// Table 2's letter.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::SequentialOne => 'S',
            Self::SequentialEach => 's',
            Self::RandomEach => 'r',
            Self::RandomOne => 'R',
        }
    }

    /// Whether lengths are drawn, not counted up.
    pub(crate) const fn is_random(self) -> bool {
        matches!(self, Self::RandomEach | Self::RandomOne)
    }

    /// Whether requests share a connection.
    pub(crate) const fn shares_connection(self) -> bool {
        matches!(self, Self::SequentialOne | Self::RandomOne)
    }
}

/// Clap's derive would spell the letters in lower case.
impl ValueEnum for Trial {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::SequentialOne,
            Self::SequentialEach,
            Self::RandomOne,
            Self::RandomEach,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::SequentialOne => {
                PossibleValue::new("S").help("sequential lengths, one connection for all")
            }
            Self::SequentialEach => {
                PossibleValue::new("s").help("sequential lengths, a connection per request")
            }
            Self::RandomEach => {
                PossibleValue::new("r").help("random lengths, a connection per request")
            }
            Self::RandomOne => {
                PossibleValue::new("R").help("random lengths, one connection for all")
            }
        })
    }
}

impl Serialize for Trial {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(self.letter())
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

/// What carries the segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Medium {
    /// 10 Mbit/s, CSMA/CD
    Ethernet,
    /// 10 Mbit/s through a switch: both ways at once
    EthernetFullDuplex,
    /// 100 Mbit/s token ring
    Fddi,
    /// Full duplex, of any rate and delay
    PointToPoint,
}

/// Which description of the paper's hosts is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Model {
    /// What the paper's text says
    Literal,
    /// With the details found by fitting the paper's tables; the output marks them
    Fitted,
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
}

pub(super) fn policy_names() -> Names<Chosen> {
    let one = |entry: &'static Registered| (entry.name, entry.summary, Chosen::One(entry));
    let all = ("all", "every policy", Chosen::All);
    let linux = |policy: Policy| (policy.name(), policy.summary(), Chosen::Linux(policy));
    let registered = SendPolicy::LIST.iter().map(one);
    Names::new(registered.chain(Policy::OPTIONS.map(linux)).chain([all]))
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
