//! `--stats`: what was done is shown when the program has ended.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use tinygram_preload::settings::Settings;
use tinygram_report::Destination;

use super::Format;
use super::start::Start;
use super::stats::{self, Counts};
use super::witness::End;
use crate::outcome::Failure;

/// Where and how it is shown.
pub(super) struct Show<'a> {
    format: Format,
    /// `None` is standard error.
    to: Option<Destination>,
    settings: &'a Settings<'static>,
    words: &'a [OsString],
}

impl<'a> Show<'a> {
    /// Opens where the statistics go, if they are wanted: before any work, because a name that cannot be written is bad
    /// input. An existing file keeps its content until they are complete.
    pub(super) fn open(start: &'a Start) -> Result<Option<Self>, Failure> {
        let Some(statistics) = &start.statistics else {
            return Ok(None);
        };
        let opened = statistics.to.as_ref().map(|path| {
            Destination::open(path).map_err(|error| Failure::Io {
                doing: format!("writing to {}", path.display()),
                error,
            })
        });
        Ok(Some(Self {
            format: statistics.format,
            to: opened.transpose()?,
            settings: &start.settings,
            words: &start.words,
        }))
    }

    /// Shows what was counted. Whether anybody reads it affects nothing.
    pub(super) fn show(self, counts: &Counts, end: End) {
        let words = self.words.iter().map(|word| OsStr::to_string_lossy(word));
        let words: Vec<String> = words.map(Into::into).collect();
        let text = match self.format {
            Format::Text => stats::text(self.settings, counts),
            Format::Json => stats::json(self.settings, &words, end, counts),
        };
        let _ = match self.to {
            Some(file) => file.write(text.as_bytes()),
            None => std::io::stderr().write_all(text.as_bytes()),
        };
    }
}
