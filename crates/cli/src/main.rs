//! `tinygram`: what was typed becomes a verb; a verb does its work and says how it ended.
//!
//! The road of every verb: typed (`Args`) -> meant (a plan, checked before any work)
//! -> done (results as data) -> shown (an exporter of `tinygram-report`).

mod capture;
mod covered;
mod exit;
mod files;
mod interrupt;
mod supervise;
mod terminal;
mod values;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

/// Finds, explains and removes the stalls and floods of small TCP segments.
#[derive(Debug, Parser)]
#[command(
    name = "tinygram",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    let outcome = match Cli::try_parse() {
        Ok(cli) => cli.verb.run(),
        Err(error) => Err(error.into()),
    };
    exit::code(outcome)
}
