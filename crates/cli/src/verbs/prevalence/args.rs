//! The command line: every flag, its help and its spelling. The plan interprets them.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use tinygram_engine::profile::Profile;
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};
use tinygram_tables::{Table, schemas};

use crate::flags::{OUTPUT, Output, Processors};
use crate::values::{Names, count, duration, rate, size};

/// Tell how many of a web server's responses Nagle would stall, and what that costs
///
/// Reads access logs in the Common or Combined Log Format, plain or in gzip, recognised by content;
/// several files count as one log, `-` is standard input. The simulator's results come first, for the
/// stack's default send policy and then the others: how long responses would be held, in how many
/// segments. Then Table 1 of Mogul & Minshall for that log.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// Access logs, or - for standard input
    #[arg(required = true, value_name = "LOG")]
    pub(crate) logs: Vec<PathBuf>,

    /// Maximum segment sizes [default: the paper's Ethernet and FDDI: 1460,4312]
    #[arg(
        long, value_name = "BYTES,...", value_delimiter = ',', value_parser = count(1_u16..=65_495),
        default_value = "1460,4312", hide_default_value = true, help_heading = MODEL
    )]
    pub(crate) mss: Vec<u16>,

    /// Sizes of the kernel's copying unit, below which a message is never delayed; none ignores it. A
    /// simulated kernel that copies in such units does so in each of these [default: the paper's:
    /// none,4096,8192; simulated in the kernel's own]
    #[arg(
        long, value_name = "SIZE,...", value_delimiter = ',', value_parser = mclbytes,
        help_heading = MODEL
    )]
    pub(crate) mclbytes: Vec<Mclbytes>,

    /// Bytes of response header to add to each body; the paper adds none
    #[arg(
        long, value_name = "BYTES", value_parser = count(0_u64..=1 << 20), default_value_t = 0,
        help_heading = MODEL
    )]
    pub(crate) header_bytes: u64,

    /// Stack that is simulated at both ends; the paper's is tru64_4
    #[arg(
        long, value_name = "NAME", value_parser = profiles(), default_value = "linux_6",
        hide_possible_values = true, help_heading = COST
    )]
    pub(crate) profile: &'static Profile,

    /// Server's send policies; see `tinygram policies` [default: the stack's own, nagle, minshall, dldet,
    /// off]
    #[arg(
        long, visible_alias = "variant", value_name = "NAME,...", value_delimiter = ',',
        value_parser = policies(), hide_possible_values = true, help_heading = COST
    )]
    pub(crate) policy: Vec<&'static Registered>,

    /// Rate of the link between server and client, bits per second
    #[arg(long, value_name = "RATE", value_parser = rate, default_value = "100M", help_heading = COST)]
    pub(crate) rate: u64,

    /// Round-trip time added to the link
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0ms", help_heading = COST)]
    pub(crate) rtt: Duration,

    /// Table 1 only: simulate nothing
    #[arg(
        long, conflicts_with_all = ["profile", "policy", "rate", "rtt", "threads"], help_heading = COST
    )]
    pub(crate) no_cost: bool,

    #[command(flatten, next_help_heading = COST)]
    pub(crate) processors: Processors,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) results: Output,

    /// Which table, in parquet and arrow [default: costs; shares with --no-cost]
    #[arg(long, value_enum, value_name = "TABLE", help_heading = OUTPUT)]
    pub(crate) table: Option<TableName>,

    /// Write one self-contained page too
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,
}

/// The copying unit, `None` where the test for it is ignored. (Clap would take an `Option` in a list
/// for something else.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mclbytes(pub(crate) Option<u64>);

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    #[value(alias = "table")]
    Text,
    /// One document, schema tinygram.prevalence/1
    Json,
    /// One line per entry of either table
    Csv,
    /// For a document
    Markdown,
    /// A table (the book: tables) as a Parquet file
    Parquet,
    /// A table (the book: tables) as an Arrow file
    Arrow,
}

/// What there are tables of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableName {
    /// What the responses take, by send policy
    Costs,
    /// Table 1
    Shares,
    /// What was read
    Log,
}

impl TableName {
    pub(super) const fn table(self) -> &'static Table {
        match self {
            Self::Costs => &schemas::PREVALENCE_COSTS,
            Self::Shares => &schemas::PREVALENCE_SHARES,
            Self::Log => &schemas::PREVALENCE_LOG,
        }
    }
}

fn mclbytes(typed: &str) -> Result<Mclbytes, String> {
    if typed.eq_ignore_ascii_case("none") {
        return Ok(Mclbytes(None));
    }
    let bytes = size(typed).map_err(|why| format!("{why}; or none, to ignore it"))?;
    Ok(Mclbytes(Some(bytes)))
}

fn profiles() -> Names<&'static Profile> {
    Names::new(Profile::LIST.iter().map(|it| (it.name, it.summary, it)))
}

fn policies() -> Names<&'static Registered> {
    Names::new(SendPolicy::LIST.iter().map(|it| (it.name, it.summary, it)))
}

const MODEL: &str = "Table 1";
const COST: &str = "Cost";

const EXAMPLES: &str = "\
Examples:
  tinygram prevalence access.log                          what Linux does with a log of yours; Table 1
  tinygram prevalence access.log --profile tru64_4        what the paper's kernel would have done
  tinygram prevalence /var/log/nginx/access.log*          with the rotated ones, gzip or not
  zstdcat old.zst | tinygram prevalence - --no-cost
  tinygram prevalence access.log --policy nagle,linux --rtt 20ms
  tinygram prevalence access.log --header-bytes 300 --format json";
