//! `tinygram`: what was typed becomes a verb; a verb does its work and says how it ended.
//!
//! The road of every verb: typed (`Args`) -> meant (a plan, checked before any work)
//! -> done (results as data) -> shown (an exporter of `tinygram-report`).
//!
//! [`main`] is the program. [`embedded`] does the same work for a program that wants rows, not text.

mod capture;
mod covered;
pub mod embedded;
mod exit;
mod files;
mod flags;
mod heard;
mod help;
mod interrupt;
mod shown;
mod supervise;
mod terminal;
mod values;
mod verbs;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};

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

/// Does what was typed, and returns the exit code. The first argument is the program's name.
pub fn main(typed: impl IntoIterator<Item = OsString>) -> u8 {
    let outcome = match parsed(typed) {
        Ok(cli) => cli.verb.run(),
        Err(error) => Err(error.into()),
    };
    exit::code(outcome)
}

fn parsed(typed: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let matches = help::grouped(Cli::command()).try_get_matches_from(typed)?;
    Cli::from_arg_matches(&matches)
}
