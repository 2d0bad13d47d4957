use std::net::IpAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use tinygram_diagnose::Kind;
use tinygram_tables::{Table, schemas};

use super::fail_on::Condition;
use crate::flags::{OUTPUT, Output};

/// Name each stall in a capture, the side to blame, what it cost, and the fix
///
/// Reads pcap and pcapng, plain or in gzip or zstd, recognised by content. Several files are
/// analysed each for itself and told of together. `-` reads standard input and reports as it
/// goes: tcpdump -U -w - | tinygram diagnose -
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Captures, or - for standard input
    #[arg(required_unless_present_any = ["recipes", "read"], value_name = "CAPTURE")]
    pub(super) captures: Vec<PathBuf>,
    /// A capture file, as in tcpdump -r; the same as naming it
    #[arg(short = 'r', value_name = "FILE")]
    pub(super) read: Vec<PathBuf>,
    /// Look at connections of this address only; may be repeated
    #[arg(long, value_name = "ADDRESS", help_heading = CHOICE)]
    pub(super) host: Vec<IpAddr>,
    /// Look at connections with this port at either end only; may be repeated
    #[arg(long, value_name = "PORT", value_parser = port, help_heading = CHOICE)]
    pub(super) port: Vec<u16>,
    /// Look at what comes this many seconds after the capture's first frame, and later
    #[arg(long, value_name = "SECONDS", help_heading = CHOICE)]
    pub(super) from: Option<f64>,
    /// Look at what comes up to this many seconds after the capture's first frame
    #[arg(long, value_name = "SECONDS", help_heading = CHOICE)]
    pub(super) to: Option<f64>,
    /// Report findings of this kind only, for example write-write-read; may be repeated
    #[arg(long, value_name = "KIND", value_parser = kind, help_heading = CHOICE)]
    pub(super) kind: Vec<Kind>,
    /// Print one JSON document (schema tinygram.diagnose/2) instead of text: --format json
    #[arg(long, conflicts_with = "format", help_heading = OUTPUT)]
    pub(super) json: bool,
    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) results: Output,

    /// Which table, in csv, parquet and arrow [default: findings]
    #[arg(long, value_enum, value_name = "TABLE", help_heading = OUTPUT)]
    pub(super) table: Option<TableName>,
    /// Write a self-contained page with time-sequence plots of the stalls
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(super) html: Option<PathBuf>,
    /// Write the capture with comments on the frames of each finding, for Wireshark
    #[arg(long, value_name = "OUT.pcapng", help_heading = OUTPUT)]
    pub(super) annotate: Option<PathBuf>,
    /// Write a time-sequence plot for xplot per direction with stalls, into this folder
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(super) xplot: Option<PathBuf>,
    /// Exit with code 1 if this holds, for example 'stalls>0' or 'cost_ms>=100'
    #[arg(long, value_name = "CONDITION")]
    pub(super) fail_on: Vec<Condition>,
    /// Show every finding, not the first few of each kind
    #[arg(short, long)]
    pub(super) verbose: bool,
    /// Most connections kept in memory at once (about 1.1 kB each); those silent longest are removed first
    #[arg(long, value_name = "N", default_value_t = 131_072, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) connection_limit: u32,
    /// Most findings kept with their details (about 1 kB each); more are only counted
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) finding_limit: u32,
    /// Tell the story of one frame, accused or not: what held it, what was asked, and what that showed
    #[arg(long, value_name = "FRAME", value_parser = clap::value_parser!(u64).range(1..),
          conflicts_with_all = ["json", "format", "html", "annotate", "xplot", "fail_on", "recipes"])]
    pub(super) explain: Option<u64>,
    /// Print how to make the change in common languages and servers, and stop
    #[arg(long)]
    pub(super) recipes: bool,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    Text,
    /// One document, schema tinygram.diagnose/2
    Json,
    /// A table (the book: tables) as CSV
    Csv,
    /// A table (the book: tables) as a Parquet file
    Parquet,
    /// A table (the book: tables) as an Arrow file
    Arrow,
}

/// What a diagnosis has tables of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableName {
    /// Stalls and floods
    Findings,
    /// Connections
    Connections,
    /// What looked like a stall and is not
    RuledOut,
    /// A row for each capture
    Verdict,
}

impl TableName {
    pub(super) const fn table(self) -> &'static Table {
        match self {
            Self::Findings => &schemas::FINDINGS,
            Self::Connections => &schemas::CONNECTIONS,
            Self::RuledOut => &schemas::RULED_OUT,
            Self::Verdict => &schemas::VERDICT,
        }
    }
}

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| "is no port (accepted: 1 to 65535)".to_owned())
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::named(name).ok_or_else(|| {
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("no such kind (accepted: {})", names.join(", "))
    })
}

const CHOICE: &str = "What is looked at";
