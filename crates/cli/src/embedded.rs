//! The verbs for a program that embeds this one: they return rows instead of text, and do not touch
//! the terminal.
//!
//! Requests are written as on the command line, so that options, defaults, checks and error
//! messages are the same.

use std::io;
use std::sync::Arc;

use clap::Parser;
use tinygram_tables::Rows;

use crate::Cli;
pub use crate::files::{Given, Open};
use crate::heard;
pub use crate::heard::Listener;
use crate::outcome::Failure;
pub use crate::verbs::prevalence::Counted;
use crate::verbs::{Verb, deadlock, diagnose, naglemark, policies, prevalence, reproduce};

/// The reason why there are no rows.
#[derive(Debug)]
pub enum Error {
    /// The request cannot be carried out; one line, as on the command line.
    Input(String),
    /// Reading failed; one line, and the system's reason.
    Io(String, io::Error),
    /// The listener cancelled the work.
    CalledOff,
}

/// Carries out `typed` (a verb and its options, without the program's name) and returns its tables.
///
/// # Errors
/// [`Error`], with the command line's message.
pub fn tables(
    typed: &[String],
    given: Vec<Given>,
    listener: Arc<dyn Listener>,
) -> Result<Vec<Rows>, Error> {
    told(listener, || {
        let verb = meant(typed, !given.is_empty())?;
        of(verb, given)
    })
}

/// Returns which of these captures belong together, in order: single captures, or the files of one
/// ring buffer.
#[must_use]
pub fn streams(names: &[String]) -> Vec<Vec<String>> {
    diagnose::streams(names)
}

/// Counts the responses of one range of a log, which begins at `offset`; returns the table
/// `responses`.
///
/// # Errors
/// [`Error`], if it cannot be read.
pub fn responses(
    range: Given,
    offset: u64,
    listener: Arc<dyn Listener>,
) -> Result<Vec<Rows>, Error> {
    told(listener, || Ok(vec![prevalence::responses(range, offset)?]))
}

/// Returns the tables of `prevalence` for logs that were counted in parts.
///
/// # Errors
/// [`Error`], with the command line's message.
pub fn prevalence_of(
    typed: &[String],
    counted: &[Counted],
    listener: Arc<dyn Listener>,
) -> Result<Vec<Rows>, Error> {
    told(listener, || match meant(typed, true)? {
        Verb::Prevalence(args) => prevalence::tables_of(&args, counted),
        _ => Err(Failure::Input("only prevalence takes counts".to_owned())),
    })
}

/// Parses `typed`. The parser requires a file; if sources are given, `-` stands in for it.
fn meant(typed: &[String], given: bool) -> Result<Verb, Failure> {
    let program = std::iter::once("tinygram");
    let typed = typed.iter().map(String::as_str);
    let words = program.chain(typed).chain(given.then_some("-"));
    Ok(Cli::try_parse_from(words)?.verb)
}

fn told(
    listener: Arc<dyn Listener>,
    work: impl FnOnce() -> Result<Vec<Rows>, Failure>,
) -> Result<Vec<Rows>, Error> {
    match heard::while_told(listener, work) {
        Ok(Ok(tables)) => Ok(tables),
        Ok(Err(failure)) => Err(failure.into()),
        Err(heard::CalledOff) => Err(Error::CalledOff),
    }
}

fn of(verb: Verb, given: Vec<Given>) -> Result<Vec<Rows>, Failure> {
    match verb {
        Verb::Diagnose(args) => diagnose::tables(args, given),
        Verb::Prevalence(args) => prevalence::tables(&args, given),
        Verb::Naglemark(args) => naglemark::tables(&args),
        Verb::Reproduce(args) => reproduce::tables(&args),
        Verb::Deadlock(args) => deadlock::tables(&args),
        Verb::Policies(_) => Ok(vec![policies::rows()]),
        _ => Err(Failure::Input(
            "this verb gives no table (accepted: diagnose, prevalence, naglemark, reproduce, deadlock, \
             policies)"
                .to_owned(),
        )),
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let line = failure.line();
        match failure {
            Failure::Io { error, .. } => Self::Io(line, error),
            _ => Self::Input(line),
        }
    }
}
