//! Rendered results: text for people and scripts, or a file's octets.

use std::io::IsTerminal;
use std::path::Path;

use clap::ValueEnum;
use tinygram_tables::{Encoding, Rows};

use crate::outcome::{Done, Failure};
use crate::terminal;

/// Rendered results.
pub(crate) enum Rendered {
    Text(String),
    Binary(Vec<u8>),
}

impl Rendered {
    /// Returns rows as a file.
    pub(crate) fn rows(rows: &Rows, encoding: Encoding) -> Result<Self, Failure> {
        let encoded = encoding.of(rows);
        encoded
            .map(Self::Binary)
            .map_err(|error| Failure::Input(format!("cannot write {}: {error}", encoding.name())))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// Writes the results to standard output.
    pub(crate) fn print(&self) -> Result<Done, Failure> {
        match self {
            Self::Text(text) => terminal::print(text.as_bytes()),
            Self::Binary(bytes) => terminal::print_raw(bytes),
        }
    }
}

/// Returns what made a page: program, version, date (`SOURCE_DATE_EPOCH` if it is set, for
/// reproducible builds), and the command line.
pub(crate) fn origin() -> String {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok();
    let told = epoch.and_then(|seconds| jiff::Timestamp::from_second(seconds.parse().ok()?).ok());
    let day = told.unwrap_or_else(jiff::Timestamp::now).strftime("%F");
    let words = std::env::args_os().skip(1);
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .map(|word| match word.contains([' ', '\'', '"', '$']) {
            true => format!("{word:?}"),
            false => word,
        })
        .collect();
    format!(
        "Made by tinygram {} on {day} (UTC) with `tinygram {}`.",
        env!("CARGO_PKG_VERSION"),
        words.join(" ")
    )
}

/// Returns the encoding that a verb's `--format` names, or `None` if the format is not a file of
/// rows.
pub(crate) fn encoding(format: impl ValueEnum + Copy) -> Option<Encoding> {
    let format = format.to_possible_value()?;
    let encodings = [Encoding::Parquet, Encoding::Arrow];
    encodings
        .into_iter()
        .find(|it| it.name() == format.get_name())
}

/// Refuses a format whose files cannot be written, before any work.
pub(crate) fn check(format: impl ValueEnum + Copy, output: Option<&Path>) -> Result<(), Failure> {
    let Some(encoding) = encoding(format) else {
        return Ok(());
    };
    let name = encoding.name();
    if !Encoding::BUILT {
        return Err(Failure::Input(format!(
            "--format {name} is not in this build (accepted: the other formats; the wheel has it, and \
             cargo build --features tables)"
        )));
    }
    if output.is_none() && std::io::stdout().is_terminal() {
        return Err(Failure::Input(format!(
            "--format {name} is not for a terminal (accepted: --output FILE, or a pipe)"
        )));
    }
    Ok(())
}
