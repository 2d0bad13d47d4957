//! Where verbs print: results go to standard output, progress to standard error. (`outcome.rs` writes the line
//! that ends a failed run; `ps`, `watch` and `shown.rs` ask for themselves whether standard output is a terminal.)

use std::borrow::Cow;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use tinygram_report::Ink;

use crate::heard::{self, Listener};
use crate::outcome::{Done, Failure, complain};
use crate::values::in_words;

/// Writes results to standard output, whole or not at all. Styles are written only to a terminal
/// that wants them (NO_COLOR, CLICOLOR and TERM are heeded).
pub(crate) fn print(bytes: &[u8]) -> Result<Done, Failure> {
    // To look for styles octet by octet takes a sixth of the time of a capture's JSON.
    if !bytes.contains(&ESCAPE) {
        return print_raw(bytes);
    }
    write(anstream::stdout().lock(), bytes)
}

/// Work that takes longer than this is announced.
const LONG: Duration = Duration::from_secs(10);
/// How fast a file is read is known after this time and this many octets.
const TELLING: Duration = Duration::from_secs(1);
const ENOUGH: u64 = 1 << 20;
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
        None if io::stderr().is_terminal() => complain(&broken(line, size().0)),
        None => complain(line),
    }
}

/// Writes text for people: to a terminal with its lines broken between words, else unchanged.
pub(crate) fn print_text(text: &str) -> Result<Done, Failure> {
    match io::stdout().is_terminal() {
        true => print(broken(text, size().0).as_bytes()),
        false => print(text.as_bytes()),
    }
}

/// Returns the terminal's columns and lines.
pub(crate) fn size() -> (usize, usize) {
    let size = terminal_size::terminal_size();
    size.map_or((WIDTH, HEIGHT), |(width, height)| {
        (width.0.into(), height.0.into())
    })
}

/// Returns the width for text on standard output: the terminal's, or no limit.
pub(crate) fn width() -> usize {
    match io::stdout().is_terminal() {
        true => size().0,
        false => usize::MAX,
    }
}

/// Returns whether standard output is a terminal that wants styles (NO_COLOR, CLICOLOR and TERM are heeded).
pub(crate) fn ink() -> Ink {
    match anstream::AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => Ink::Plain,
        _ => Ink::Styled,
    }
}

/// Breaks lines that are longer than `width` between words. What follows is indented by two more than its line.
pub(crate) fn broken(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let plain = line.trim_end_matches('\n');
        let indent = plain.len() - plain.trim_start().len();
        let hanging = " ".repeat((indent + 2).min(width / 2));
        let options = textwrap::Options::new(width.max(1))
            .word_separator(textwrap::WordSeparator::AsciiSpace)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false)
            .subsequent_indent(&hanging);
        match plain.len() > width {
            true => out += &textwrap::wrap(plain, options).join("\n"),
            false => out += plain,
        }
        out += &line[plain.len()..];
    }
    out
}

/// Prints how long work will take, if that is long.
pub(crate) fn announce(doing: &str, takes: Duration) {
    if takes >= LONG {
        remark(&format!(
            "tinygram: {doing} takes about {}",
            in_words(takes)
        ));
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
            return Self::Lines(Lines::of_pieces(total, what));
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
    what: Cow<'static, str>,
    total: Option<u64>,
    done: AtomicU64,
    /// Writes an amount.
    written: fn(u64) -> String,
    began: Instant,
    /// Whether the whole time is still to be announced.
    announces: AtomicBool,
    /// The minutes that were reported.
    told: AtomicU64,
}

impl Lines {
    /// Returns the progress of work whose time was announced.
    fn of_pieces(total: u64, what: &'static str) -> Self {
        Self::of(Some(total), what.into(), |pieces| pieces.to_string(), false)
    }

    /// Returns the progress of reading, whose time is announced once it can be estimated.
    fn of_reading(bytes: Option<u64>, name: &str) -> Self {
        let what = format!("reading {name}").into();
        Self::of(bytes, what, |bytes| HumanBytes(bytes).to_string(), true)
    }

    #[allow(clippy::disallowed_methods)] // how long the machine takes is about the real world
    fn of(
        total: Option<u64>,
        what: Cow<'static, str>,
        written: fn(u64) -> String,
        announces: bool,
    ) -> Self {
        Self {
            what,
            total,
            done: AtomicU64::new(0),
            written,
            began: Instant::now(),
            announces: AtomicBool::new(announces),
            told: AtomicU64::new(0),
        }
    }

    fn steps(&self, count: u64) {
        if count == 0 {
            return;
        }
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        let elapsed = self.began.elapsed();
        if elapsed >= TELLING
            && done >= ENOUGH
            && self.announces.swap(false, Ordering::Relaxed)
            && let Some(total) = self.total
        {
            announce(&self.what, elapsed.mul_f64(total as f64 / done as f64));
        }
        let minutes = elapsed.as_secs() / 60;
        // The first thread to come in a minute reports it.
        if self.told.fetch_max(minutes, Ordering::Relaxed) < minutes {
            remark(&self.line(done, elapsed, minutes));
        }
    }

    fn line(&self, done: u64, elapsed: Duration, minutes: u64) -> String {
        let (what, amount) = (&self.what, (self.written)(done));
        let Some(total) = self.total else {
            return format!("tinygram: {what} {amount}, {minutes} min elapsed");
        };
        // A file that is still written may hold more than its size at first.
        let left = elapsed.mul_f64((total as f64 / done as f64 - 1.0).max(0.0));
        format!(
            "tinygram: {what} {amount} of {}, {minutes} min elapsed, about {} min to go",
            (self.written)(total),
            left.as_secs().div_ceil(60)
        )
    }
}

/// How far a file has been read: a bar on standard error if it is a terminal. Otherwise, if it takes
/// long, a line that says how long, and a line per minute. An embedding program is told instead.
pub(crate) enum Reading {
    Bar(ProgressBar),
    Lines(Arc<Lines>),
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
        if !io::stderr().is_terminal() {
            return Self::Lines(Arc::new(Lines::of_reading(bytes, &what)));
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
    pub(crate) fn over<'a>(&self, source: impl Read + Send + 'a) -> Box<dyn Read + Send + 'a> {
        match self {
            Self::Bar(bar) => Box::new(bar.wrap_read(source)),
            Self::Lines(lines) => Box::new(Counted {
                source,
                lines: Arc::clone(lines),
            }),
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

/// A source whose octets are counted.
struct Counted<R> {
    source: R,
    lines: Arc<Lines>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(into)?;
        self.lines.steps(count as u64);
        Ok(count)
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
const HEIGHT: usize = 40;
/// Below this width breaking lines makes text less readable.
const NARROWEST: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_what_follows_is_indented() {
        let text = "No stall and no flood in 30 s.\n  this host, the server: write the answer in one call\n\nend";
        assert_eq!(
            broken(text, 24),
            "No stall and no flood in\n  30 s.\n  this host, the server:\n    write the answer in\n    one call\n\nend"
        );
        assert_eq!(broken(text, 200), text);
        // A word that is too long stays whole: it may be a path that somebody copies.
        assert_eq!(
            broken("see /a/very/long/path", 8),
            "see\n  /a/very/long/path"
        );
    }
}
