//! The command line: every flag, its help and its spelling. The plan interprets them.

use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use tinygram_papers::{Experiment, experiments};

use super::here;
use crate::flags::{Chance, OUTPUT, Output, Processors, RUN};
use crate::values::{Names, count};

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// Experiments, or the beginning of several ids, such as `mogul` or `mogul-table`
    /// [default: all but `here`; --list has the ids]
    #[arg(value_name = "ID", value_parser = Ids::new(), hide_possible_values = true)]
    pub(crate) id: Vec<Chosen>,

    /// List the experiments without running them
    #[arg(long)]
    pub(crate) list: bool,

    /// Show the tables too, ours beside the paper's [default: only where an id is given]
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Repetitions of what the paper repeated ten times; tolerances assume ten
    #[arg(
        long, value_name = "N", value_parser = count(1_u32..=100_000), default_value_t = 10,
        help_heading = RUN
    )]
    pub(crate) repetitions: u32,

    #[command(flatten)]
    pub(crate) chance: Chance,

    #[command(flatten)]
    pub(crate) processors: Processors,

    /// How results are written
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = OUTPUT)]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) results: Output,

    /// Write one self-contained page too: tables side by side, traces, plots, rules, parameters
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) html: Option<PathBuf>,

    /// Write the traces too, each as a text in tcpdump's notation and as a capture for Wireshark
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) traces: Option<PathBuf>,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For reading in a terminal
    Text,
    /// One document, schema tinygram.reproduce/1
    Json,
    /// For a document, tables and all: book/src/evidence/reproduction.md
    Markdown,
    /// The rows (the book: tables) as a Parquet file
    Parquet,
    /// The rows (the book: tables) as an Arrow file
    Arrow,
}

/// The experiments for one id on the command line.
pub(crate) type Chosen = Vec<&'static Experiment>;

/// A parser for ids and their beginnings.
#[derive(Clone)]
struct Ids(Names<&'static Experiment>);

impl Ids {
    fn new() -> Self {
        let named = all()
            .into_iter()
            .map(|experiment| (experiment.id, experiment.title, experiment));
        Self(Names::new(named))
    }
}

impl TypedValueParser for Ids {
    type Value = Chosen;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        typed: &std::ffi::OsStr,
    ) -> Result<Chosen, Error> {
        let meant = meant(&typed.to_string_lossy().to_lowercase(), &all());
        if !meant.is_empty() {
            return Ok(meant);
        }
        // No match: the list of names has the error message.
        let one = self.0.parse_ref(command, arg, typed)?;
        Ok(vec![one])
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Returns every experiment, those that are measured on this kernel last.
fn all() -> Vec<&'static Experiment> {
    experiments().into_iter().chain(here::EXPERIMENTS).collect()
}

/// Returns the experiment with this id, or all whose ids begin with it. `mogul-figure-1` is not a
/// beginning of `mogul-figure-10`.
fn meant(typed: &str, all: &[&'static Experiment]) -> Chosen {
    let begins = |id: &str| {
        id.strip_prefix(typed).is_some_and(|rest| {
            let splits_a_number =
                typed.ends_with(|c: char| c.is_ascii_digit()) && rest.starts_with(char::is_numeric);
            !typed.is_empty() && !splits_a_number
        })
    };
    let exact = all.iter().find(|experiment| experiment.id == typed);
    match exact {
        Some(one) => vec![one],
        None => all.iter().filter(|it| begins(it.id)).copied().collect(),
    }
}

const EXAMPLES: &str = "\
Examples:
  tinygram reproduce                        Everything, a line for each experiment
  tinygram reproduce mogul-table-5          One table, ours beside the paper's
  tinygram reproduce moldeklev heidemann    Two papers
  tinygram reproduce here                   On this kernel, under the papers' policies; takes root
  tinygram reproduce --html page.html --format json --output results.json

Exit code 1: done, and something that should match the paper does not.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_means_itself_and_a_beginning_all_that_begin_so() {
        let ids = |typed| -> Vec<_> {
            let all = experiments();
            meant(typed, &all).iter().map(|it| it.id).collect()
        };
        assert_eq!(ids("mogul-table-4"), ["mogul-table-4"]);
        assert!(ids("mogul-table").len() > 3);
        assert!(ids("mogul").len() >= ids("mogul-table").len());
        assert_eq!(ids("mogul-figure-1"), ["mogul-figure-1"]);
        // Numbers are not split: if there is no figure 1, the id does not mean figures 10 to 12.
        let mut without = experiments();
        without.retain(|it| it.id != "mogul-figure-1");
        assert!(meant("mogul-figure-1", &without).is_empty());
        assert!(ids("").is_empty());
        assert!(ids("tables").is_empty());
    }
}
