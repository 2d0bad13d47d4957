//! What the kernel said in a run, in a file: so that another rule can judge the same run.
//!
//! A line of text with the layout's number, then the records of the ring as they came, each behind its
//! length (four octets, the lowest first). Stacks are left out: they are large, and no rule asks them.

use std::io::{self, Read, Write};

use super::record;
use crate::event::Event;

/// The first line. Its number changes with the layout of a record (`bpf/events.h`).
const HEADER: &str = "tinygram events 1";

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder<W> {
    into: W,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording. `sees_timers` is [`super::Source::sees_timers`].
    ///
    /// # Errors
    ///
    /// Returns what writing returns.
    pub fn begin(mut into: W, sees_timers: bool) -> io::Result<Self> {
        let timers = if sees_timers { "timers" } else { "no timers" };
        writeln!(into, "{HEADER}, {timers}")?;
        Ok(Self { into })
    }

    /// Adds a record.
    pub(super) fn add(&mut self, octets: &[u8]) -> io::Result<()> {
        if record::stack(octets).is_some() {
            return Ok(());
        }
        let length = u32::try_from(octets.len()).map_err(io::Error::other)?;
        self.into.write_all(&length.to_le_bytes())?;
        self.into.write_all(octets)
    }
}

/// A recording that was read.
#[derive(Debug)]
pub struct Recording {
    /// Whether the source reported the timers of delayed acknowledgments.
    pub sees_timers: bool,
    /// The events in their order; their times count from the host's start.
    pub events: Vec<Event>,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// Returns what reading returns, and `InvalidData` for a file that is none of this version.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let mut octets = Vec::new();
        from.read_to_end(&mut octets)?;
        let end = octets.iter().position(|octet| *octet == b'\n');
        let header = end.and_then(|end| std::str::from_utf8(&octets[..end]).ok());
        let sees_timers = match header.and_then(|line| line.strip_prefix(HEADER)) {
            Some(", timers") => true,
            Some(", no timers") => false,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidData)),
        };
        let mut events = Vec::new();
        let mut rest = octets.get(end.map_or(0, |end| end + 1)..).unwrap_or(&[]);
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            // The last record may be cut off.
            let Some((record, next)) = behind.split_at_checked(length) else {
                break;
            };
            events.extend(record::decode(record, 0));
            rest = next;
        }
        Ok(Self {
            sees_timers,
            events,
        })
    }
}
