//! The one module that uses the terminal: results go to standard output, progress to standard
//! error.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use tinygram_report::Ink;

use crate::exit::{Done, Failure};
use crate::heard::{self, Listener};

/// Writes results to standard output, whole or not at all. Styles are written only to a terminal
/// that wants them (NO_COLOR, CLICOLOR and TERM are heeded).
pub(crate) fn print(bytes: &[u8]) -> Result<Done, Failure> {
    // To look for styles octet by octet takes a sixth of the time of a capture's JSON.
    if !bytes.contains(&ESCAPE) {
        return print_raw(bytes);
    }
    write(anstream::stdout().lock(), bytes)
}

/// Every style begins with it.
const ESCAPE: u8 = 0x1b;

/// Writes octets to standard output unchanged.
pub(crate) fn print_raw(bytes: &[u8]) -> Result<Done, Failure> {
    write(io::stdout().lock(), bytes)
}

/// Lets `write` write a long result to standard output piece by piece, unchanged.
pub(crate) fn stream(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<Done, Failure> {
    let mut out = io::stdout().lock();
    written(write(&mut out).and_then(|()| out.flush()))
}

fn write(mut out: impl Write, bytes: &[u8]) -> Result<Done, Failure> {
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

fn written(result: io::Result<()>) -> Result<Done, Failure> {
    result.map_err(|error| Failure::Io {
        doing: "writing to standard output".into(),
        error,
    })?;
    Ok(Done::Well)
}

/// Prints a message that is not a result.
pub(crate) fn remark(line: &str) {
    match heard::listener() {
        Some(listener) => listener.remark(line),
        None => eprintln!("{line}"),
    }
}

/// Returns styles and width for tables on standard output: those of the terminal, or no styles and
/// `otherwise`.
pub(crate) fn canvas(otherwise: usize) -> (Ink, usize) {
    if !io::stdout().is_terminal() {
        return (Ink::Plain, otherwise);
    }
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.into());
    (Ink::Styled, width.max(NARROWEST))
}

/// A progress bar on standard error if it is a terminal, otherwise a line per minute. An embedding
/// program is told instead.
pub(crate) enum Progress {
    Bar(ProgressBar),
    Lines(Lines),
    Silent,
    Told {
        listener: Arc<dyn Listener>,
        what: &'static str,
        done: AtomicU64,
        total: u64,
    },
}

impl Progress {
    /// Returns a bar over `total` pieces of work.
    pub(crate) fn over(total: u64, what: &'static str) -> Self {
        if let Some(listener) = heard::listener() {
            return Self::Told {
                listener,
                what,
                done: AtomicU64::new(0),
                total,
            };
        }
        if !io::stderr().is_terminal() {
            return Self::Lines(Lines::of(total, what));
        }
        let bar = ProgressBar::new(total).with_prefix(what);
        let style = ProgressStyle::with_template(
            "{prefix} [{bar:40}] {pos}/{len}  {elapsed} elapsed, {eta} to go  {msg}",
        )
        .expect("the template is well formed")
        .progress_chars("=> ");
        bar.set_style(style);
        Self::Bar(bar)
    }

    /// Returns a silent progress, for work that is a part of other work.
    pub(crate) const fn silent() -> Self {
        Self::Silent
    }

    /// Shows beside the bar what is being done.
    pub(crate) fn says(&self, what: String) {
        if let Self::Bar(bar) = self {
            bar.set_message(what);
        }
    }

    /// Reports one more piece as done. Any thread may call it.
    pub(crate) fn step(&self) {
        self.steps(1);
    }

    /// Reports `count` more pieces as done.
    pub(crate) fn steps(&self, count: u64) {
        match self {
            Self::Bar(bar) => bar.inc(count),
            Self::Lines(lines) => lines.steps(count),
            Self::Silent => {}
            Self::Told {
                listener,
                what,
                done,
                total,
            } => {
                let done = done.fetch_add(count, Ordering::Relaxed) + count;
                heard::tell(&**listener, what, done, Some(*total));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Progress without a terminal.
pub(crate) struct Lines {
    what: &'static str,
    total: u64,
    done: AtomicU64,
    began: Instant,
    /// The minutes that were reported.
    told: AtomicU64,
}

impl Lines {
    #[allow(clippy::disallowed_methods)] // how long the machine takes is about the real world
    fn of(total: u64, what: &'static str) -> Self {
        Self {
            what,
            total,
            done: AtomicU64::new(0),
            began: Instant::now(),
            told: AtomicU64::new(0),
        }
    }

    fn steps(&self, count: u64) {
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        let elapsed = self.began.elapsed();
        let minutes = elapsed.as_secs() / 60;
        // The first thread to come in a minute reports it.
        if self.told.fetch_max(minutes, Ordering::Relaxed) < minutes {
            let left = elapsed.mul_f64(self.total as f64 / done as f64 - 1.0);
            remark(&format!(
                "tinygram: {} {done} of {}, {minutes} min elapsed, about {} min to go",
                self.what,
                self.total,
                left.as_secs().div_ceil(60)
            ));
        }
    }
}

/// How far a file has been read: shown on standard error if it is a terminal, otherwise not at all.
/// An embedding program is told instead.
pub(crate) enum Reading {
    Bar(ProgressBar),
    Told {
        listener: Arc<dyn Listener>,
        what: String,
        bytes: Option<u64>,
    },
}

impl Reading {
    /// Returns the reading of this many bytes, if that is known.
    pub(crate) fn of(bytes: Option<u64>, what: String) -> Self {
        if let Some(listener) = heard::listener() {
            return Self::Told {
                listener,
                what,
                bytes,
            };
        }
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
        Self::Bar(bar.with_message(what))
    }

    /// Counts what is read from `source`.
    pub(crate) fn over<'a>(&self, source: impl Read + 'a) -> Box<dyn Read + 'a> {
        match self {
            Self::Bar(bar) => Box::new(bar.wrap_read(source)),
            Self::Told {
                listener,
                what,
                bytes,
            } => {
                let (listener, what) = (listener.clone(), what.clone());
                Box::new(heard::Told::new(source, listener, what, *bytes))
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// The width of a page if there is no terminal to ask.
pub(crate) const WIDTH: usize = 120;
/// Below this width breaking lines makes text less readable.
const NARROWEST: usize = 60;
