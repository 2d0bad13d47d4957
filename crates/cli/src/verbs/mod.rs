//! One module per verb; this list is the only place that knows them all.

mod completions;
mod man;
mod ps;
mod run;

use clap::Subcommand;

use crate::exit::{Done, Failure};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page, in roff
    Man(man::Args),
    /// Show every TCP connection with its process and its live options
    Ps(ps::Args),
    /// Run a program that coalesces its small writes and flushes when it waits
    Run(run::Args),
}

impl Verb {
    pub(crate) fn run(self) -> Result<Done, Failure> {
        match self {
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args),
            Self::Ps(args) => ps::run(&args),
            Self::Run(args) => run::run(&args),
        }
    }
}

/// Results go to standard output, whole or not at all.
fn print(bytes: &[u8]) -> Result<Done, Failure> {
    use std::io::Write;
    std::io::stdout()
        .write_all(bytes)
        .map_err(|error| Failure::Io {
            doing: "writing to standard output".into(),
            error,
        })?;
    Ok(Done::Well)
}
