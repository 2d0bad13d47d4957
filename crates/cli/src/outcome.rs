//! How a verb ended, which every verb names; the one place that turns that into exit codes and error lines.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | done, and what was asked for was found (a mismatch, a stall with `--fail-on`) |
//! | 2 | unusable input or arguments, refused before any work; or a result that could not be written |
//! | 3 | done, and what was read or watched could not have shown what was asked for (`diagnose`: "cannot tell"; `guard`: could not look) |
//! | 130 | interrupted by Ctrl-C; no file was left half-written |

use std::io::Write as _;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::printable::printable;

/// The outcome of a verb that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Exit code 0.
    Well,
    /// Exit code 1: done, and what was asked for was found.
    Found,
    /// Exit code 3: done, but no conclusion is possible.
    Unknown,
    /// Exit code 2: done but for a part of the input, which could not be read and was named.
    Partly,
}

/// The reason why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line did not parse, or asked for help or the version.
    Typed(clap::Error),
    /// Unusable input: one line that says what was wrong and what is accepted.
    Input(String),
    /// What was to be watched cannot be seen: one line that says why, and what would help.
    Blind(String),
    /// Reading or writing failed. A closed pipe on standard output ends quietly.
    Io {
        doing: String,
        error: std::io::Error,
    },
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Typed(error)
    }
}

impl From<tinygram_naglemark::Error> for Failure {
    fn from(error: tinygram_naglemark::Error) -> Self {
        match error {
            tinygram_naglemark::Error::Failed { doing, why } => Self::Io {
                doing,
                error: match why.downcast() {
                    Ok(error) => *error,
                    Err(other) => std::io::Error::other(other),
                },
            },
            other => Self::Input(other.to_string()),
        }
    }
}

/// Prints a failure, if there is one, and returns the process's exit code.
pub(crate) fn code(outcome: Result<Done, Failure>) -> u8 {
    match outcome {
        Ok(Done::Well) => 0,
        Ok(Done::Found) => 1,
        Ok(Done::Unknown) => 3,
        Ok(Done::Partly) => 2,
        Err(Failure::Typed(error)) if !error.use_stderr() => {
            // Help and version are results, so a reader that has closed the pipe is no failure.
            let _ = error.print();
            0
        }
        Err(Failure::Typed(error))
            if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            let _ = error.print();
            2
        }
        Err(failure @ Failure::Blind(_)) => {
            failure.say();
            3
        }
        Err(Failure::Io { error, .. }) if is_closed_pipe(&error) => 0,
        Err(failure) => refuse(&failure.line()),
    }
}

/// Returns whether the reader of a pipe is gone.
fn is_closed_pipe(error: &std::io::Error) -> bool {
    // Windows has a second number for it (ERROR_PIPE_NOT_CONNECTED), which Linux does not use.
    error.kind() == std::io::ErrorKind::BrokenPipe || error.raw_os_error() == Some(233)
}

impl Failure {
    /// Returns that a file could not be written.
    pub(crate) fn writing(path: &Path, error: std::io::Error) -> Self {
        Self::Io {
            doing: format!("writing {}", path.display()),
            error,
        }
    }

    /// Prints the line, because other work goes on.
    pub(crate) fn say(&self) {
        complain(&format!("tinygram: {}", self.line()));
    }

    /// Returns in one line what was wrong and what is accepted.
    pub(crate) fn line(&self) -> String {
        let line = match self {
            Self::Typed(error) => one_line(error),
            Self::Input(line) | Self::Blind(line) => line.clone(),
            Self::Io { doing, error } => format!("{doing}: {}", plain(error)),
        };
        // It may name files and processes, whose names others chose.
        printable(&line)
    }
}

/// Writes lines to standard error, without what would act on a terminal. Whether anybody reads it changes nothing else: a closed pipe must
/// not end a suite that is being guarded.
pub(crate) fn complain(line: &str) {
    let lines: Vec<_> = line.split('\n').map(printable).collect();
    let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
}

fn refuse(line: &str) -> u8 {
    complain(&format!("tinygram: {line}"));
    2
}

/// Returns the system's message without its number: people know `Permission denied`, not
/// `os error 13`.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// Returns clap's error, which has several lines, as one line for a script's log.
fn one_line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(s)) => Some(s.clone()),
        Some(ContextValue::Strings(list)) => Some(list.join(", ")),
        _ => None,
    };
    let rendered = error.to_string();
    let mut line = rendered
        .lines()
        .take_while(|l| !l.starts_with("Usage:") && !l.contains("[possible values:"))
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with("tip:") && !l.starts_with("For more info"))
        .collect::<Vec<_>>()
        .join(" ");
    if let Some(stripped) = line.strip_prefix("error: ") {
        line = stripped.to_owned();
    }
    for kind in [
        ContextKind::SuggestedValue,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
    ] {
        let nearest = match error.get(kind) {
            // Clap lists the likeliest last.
            Some(ContextValue::Strings(list)) => list.last().cloned(),
            _ => text(kind),
        };
        if let Some(near) = nearest {
            line += &format!("; did you mean {near}?");
        }
    }
    // An unknown argument: only the verb's own usage line says which arguments it takes.
    if error.kind() == ErrorKind::UnknownArgument
        && !line.contains("did you mean")
        && let Some(usage) = rendered.lines().find_map(|l| l.strip_prefix("Usage: "))
    {
        line += &format!("; usage: {usage}");
    }
    if let Some(accepted) = text(ContextKind::ValidValue).filter(|list| !list.is_empty()) {
        line += &format!(" (accepted: {accepted})");
    }
    line
}
