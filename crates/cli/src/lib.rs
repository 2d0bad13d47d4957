//! `tinygram`: a command line becomes a verb; the verb does its work and reports how it ended.
//!
//! The steps of every verb: typed (`Args`) -> meant (a plan, checked before any work) -> done
//! (results as data) -> shown (an exporter of `tinygram-report`).
//!
//! [`main`] is the program. [`embedded`] does the same work for a program that wants rows instead
//! of text.

#![cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "the verbs that ask Linux's kernel use it")
)]

mod amount;
mod capture;
mod echoed;
pub mod embedded;
mod estimate;
mod exits;
mod files;
mod flags;
mod glossary;
mod heard;
mod help;
mod outcome;
mod printable;
mod shown;
mod stop;
mod terminal;
mod values;
mod verbs;

// What the verbs that ask Linux's kernel share.
#[cfg(target_os = "linux")]
mod covered;
#[cfg(target_os = "linux")]
mod hand;
#[cfg(target_os = "linux")]
mod host_flags;
#[cfg(target_os = "linux")]
mod looked;
#[cfg(target_os = "linux")]
mod supervise;
// What is said where there is another.
#[cfg(not(target_os = "linux"))]
mod system;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser};

/// Finds, explains and removes the stalls and floods of small TCP segments.
#[derive(Debug, Parser)]
#[command(
    name = "tinygram",
    // Also where the file is called tinygram.exe.
    bin_name = "tinygram",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    verb: verbs::Verb,
}

/// Carries out a command line and returns the exit code. The first argument is the program's name.
pub fn main(typed: impl IntoIterator<Item = OsString>) -> u8 {
    let outcome = match parsed(typed) {
        Ok(cli) => cli.verb.run(),
        Err(error) => Err(error.into()),
    };
    outcome::code(outcome)
}

fn parsed(typed: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let matches =
        help::grouped(exits::told(Cli::command()), verbs::LACKING).try_get_matches_from(typed)?;
    Cli::from_arg_matches(&matches)
}

/// The examples in the crates' READMEs, tested as one program.
#[cfg(doctest)]
pub mod readmes {
    #[doc = include_str!("../../coalesce/README.md")]
    pub struct Coalesce;
    #[doc = include_str!("../../diagnose/README.md")]
    pub struct Diagnose;
    #[doc = include_str!("../../engine/README.md")]
    pub struct Engine;
    #[doc = include_str!("../../link/README.md")]
    pub struct Link;
    #[doc = include_str!("../../mcp/README.md")]
    pub struct Mcp;
    #[doc = include_str!("../../naglemark-live/README.md")]
    pub struct NaglemarkLive;
    #[doc = include_str!("../../naglemark/README.md")]
    pub struct Naglemark;
    #[doc = include_str!("../../packetdrill/README.md")]
    pub struct Packetdrill;
    #[doc = include_str!("../../papers/README.md")]
    pub struct Papers;
    #[doc = include_str!("../../preload/README.md")]
    pub struct Preload;
    #[doc = include_str!("../../report/README.md")]
    pub struct Report;
    #[doc = include_str!("../../sim/README.md")]
    pub struct Sim;
    #[doc = include_str!("../../stack/README.md")]
    pub struct Stack;
    #[doc = include_str!("../../tables/README.md")]
    pub struct Tables;
    #[doc = include_str!("../../tcp/README.md")]
    pub struct Tcp;
    #[doc = include_str!("../../watch/README.md")]
    pub struct Watch;
    #[doc = include_str!("../../weblog/README.md")]
    pub struct Weblog;
    #[doc = include_str!("../../wire/README.md")]
    pub struct Wire;
    #[doc = include_str!("../README.md")]
    pub struct Program;
}
