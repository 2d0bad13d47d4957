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
            match error.print() {
                Err(error) if !is_closed_pipe(&error) => {
                    refuse(&format!("writing to standard output: {}", plain(&error)))
                }
                _ => 0,
            }
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
        let line = without_numbers(&line);
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

/// Returns a line without the numbers that the language puts behind the system's messages.
fn without_numbers(line: &str) -> String {
    let mut pieces = line.split(" (os error ");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((number, rest)) if number.bytes().all(|it| it.is_ascii_digit()) => plain += rest,
            _ => plain += &format!(" (os error {piece}"),
        }
    }
    plain
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
    if error.kind() == ErrorKind::InvalidSubcommand && !line.contains("did you mean") {
        let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
        line += &in_place_of_a_verb(&word);
    }
    for (of_rust, of_ours) in PARSING {
        line = line.replace(of_rust, of_ours);
    }
    if let Some(accepted) = text(ContextKind::ValidValue).filter(|list| !list.is_empty()) {
        line += &format!(" (accepted: {accepted})");
    }
    line
}

/// Returns what to type where a verb was wanted and this word stands.
fn in_place_of_a_verb(word: &str) -> String {
    let path = Path::new(word);
    let ending = path.extension().and_then(|it| it.to_str());
    match () {
        () if ending.is_some_and(|it| CAPTURES.contains(&it)) || path.is_file() => format!(
            "; to read a capture: tinygram diagnose {word}; to read a web server's log: tinygram prevalence {word}"
        ),
        () if !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit()) => {
            format!("; to look at a port or a process: tinygram watch {word}, tinygram ps {word}")
        }
        () => "; tinygram --help lists the verbs".to_owned(),
    }
}

/// How the names of captures end.
const CAPTURES: [&str; 5] = ["pcap", "pcapng", "cap", "gz", "zst"];
/// What the language's own parsers say, and what a person understands.
const PARSING: [(&str, &str); 6] = [
    (
        "invalid digit found in string",
        "is no whole number (accepted: digits)",
    ),
    (
        "cannot parse integer from empty string",
        "is no whole number (accepted: digits)",
    ),
    ("number too large to fit in target type", "is too large"),
    ("number too small to fit in target type", "is too small"),
    (
        "invalid float literal",
        "is no number (accepted: digits, with a point where there is a fraction)",
    ),
    (
        "invalid IP address syntax",
        "is no IP address (accepted: 192.0.2.1, 2001:db8::1)",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_system_are_left_out_wherever_they_stand() {
        for (line, plain) in [
            (
                "reading x: Permission denied (os error 13)",
                "reading x: Permission denied",
            ),
            (
                "the journal x: Not a directory (os error 20); nothing was changed",
                "the journal x: Not a directory; nothing was changed",
            ),
            ("a file called (os error x)", "a file called (os error x)"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(line), plain);
        }
    }

    #[test]
    fn a_word_in_place_of_a_verb_gets_a_hint() {
        for (word, hint) in [
            ("one.pcap", "tinygram diagnose one.pcap"),
            ("8080", "tinygram watch 8080"),
            ("nginx", "tinygram --help lists the verbs"),
            ("", "tinygram --help lists the verbs"),
        ] {
            let said = in_place_of_a_verb(word);
            assert!(said.contains(hint), "{said}");
        }
    }
}
