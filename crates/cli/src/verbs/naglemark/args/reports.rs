//! The command line of `naglemark reports`.

use std::path::PathBuf;

use serde::Serialize;
use tinygram_naglemark::load::reports::{REPORTS, Report};

use super::costs::{Costs, costs};
use crate::echoed::in_words;
use crate::flags::{Chance, OUTPUT, Output, Processors, RUN};
use crate::values::{Names, count};

/// Compare contradictory reports about TCP_NODELAY with the same loads simulated.
///
/// Some report that a service is better with TCP_NODELAY, and some that it is worse. Each load is simulated on two hosts of today
/// with one processor each, with TCP_NODELAY, with a socket as Linux has it, and with Nagle's rule. A ratio above 1 is for
/// TCP_NODELAY. Nothing is fitted: --verbose has each condition and where it is from.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Reports to compare [default: all]
    #[arg(value_name = "REPORT", value_parser = reports())]
    #[serde(skip)]
    pub(in super::super) reports: Vec<&'static Report>,

    /// What calls and segments cost both hosts, as for `naglemark load`: linux-veth, linux-tun, or a file of `naglemark costs`
    #[arg(long, value_name = "NAME|FILE", value_parser = costs, default_value = "linux-veth", help_heading = RUN)]
    #[serde(serialize_with = "in_words")]
    pub(in super::super) costs: Costs,

    /// How often each load is repeated, each time with other random numbers
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=1000), default_value_t = 5, help_heading = RUN
    )]
    pub(in super::super) repetitions: u32,

    #[command(flatten)]
    #[serde(flatten)]
    pub(in super::super) chance: Chance,

    #[command(flatten)]
    #[serde(skip)]
    pub(in super::super) processors: Processors,

    /// Print each report's conditions too, each with where it is from
    #[arg(short, long, help_heading = OUTPUT)]
    #[serde(skip)]
    pub(in super::super) verbose: bool,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Table, value_name = "FORMAT", help_heading = OUTPUT)]
    #[serde(skip)]
    pub(in super::super) format: Format,

    #[command(flatten)]
    #[serde(skip)]
    pub(in super::super) results: Output,

    /// Write the chart too, as an SVG file
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    #[serde(skip)]
    pub(in super::super) svg: Option<PathBuf>,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum Format {
    /// For reading in a terminal
    Table,
    /// One document, schema tinygram.naglemark-reports/1
    Json,
    /// One line per load
    Csv,
    /// For a document
    Markdown,
}

fn reports() -> Names<&'static Report> {
    Names::new(REPORTS.iter().map(|it| (it.name, it.said, it)))
}

const EXAMPLES: &str = "\
Examples:
  tinygram naglemark reports --svg reports.svg     all of them, and the chart
  tinygram naglemark reports haywire --verbose     one, with each condition of its load";
