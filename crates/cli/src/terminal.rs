//! The one place that touches the terminal: results on standard output, progress on standard error.

use std::io::{IsTerminal, Read, Write};

use indicatif::{ProgressBar, ProgressStyle};
use tinygram_report::Ink;

use crate::exit::{Done, Failure};

/// Writes results to standard output, whole or not at all. Styles reach only a terminal that wants
/// them (NO_COLOR, CLICOLOR and TERM are heeded).
pub(crate) fn print(bytes: &[u8]) -> Result<Done, Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| Failure::Io {
            doing: "writing to standard output".into(),
            error,
        })?;
    Ok(Done::Well)
}

/// Says something that is not a result.
pub(crate) fn remark(line: &str) {
    eprintln!("{line}");
}

/// Styles and width for tables on standard output: the terminal's own, or plain and `otherwise`.
pub(crate) fn canvas(otherwise: usize) -> (Ink, usize) {
    if !std::io::stdout().is_terminal() {
        return (Ink::Plain, otherwise);
    }
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
    (Ink::Styled, width.max(NARROWEST))
}

/// A progress bar on standard error, where that is a terminal; nothing elsewhere.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar over `total` pieces of work.
    pub(crate) fn over(total: u64, what: &'static str) -> Self {
        let bar = ProgressBar::new(total).with_prefix(what);
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:40}] {pos}/{len}  {elapsed} elapsed, {eta} to go  {msg}",
        )
        .expect("the template is well formed")
        .progress_chars("=> ");
        bar.set_style(style);
        Self(bar)
    }

    /// What is being done, behind the bar.
    pub(crate) fn says(&self, what: String) {
        self.0.set_message(what);
    }

    /// One more piece is done. Any thread may say so.
    pub(crate) fn step(&self) {
        self.steps(1);
    }

    /// So many more pieces are done.
    pub(crate) fn steps(&self, count: u64) {
        self.0.inc(count);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// How far a file has been read, on standard error, where that is a terminal; nothing elsewhere.
pub(crate) struct Reading(ProgressBar);

impl Reading {
    /// Of so many bytes, if that is known.
    pub(crate) fn of(bytes: Option<u64>, what: String) -> Self {
        let (bar, template) = match bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "{msg} [{bar:40}] {bytes}/{total_bytes}  {bytes_per_sec}, {eta} to go",
            ),
            None => (ProgressBar::no_length(), "{msg} {bytes}  {bytes_per_sec}"),
        };
        let style = ProgressStyle::with_template(template)
            .expect("the template is well formed")
            .progress_chars("=> ");
        bar.set_style(style);
        Self(bar.with_message(what))
    }

    /// Counts what is read from `source`.
    pub(crate) fn over<R: Read>(&self, source: R) -> impl Read {
        self.0.wrap_read(source)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The width of a page where there is no terminal to ask.
pub(crate) const WIDTH: usize = 120;
/// Below this, breaking lines only makes it worse.
const NARROWEST: usize = 60;
