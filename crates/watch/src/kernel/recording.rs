//! What the kernel said in a run, in a file: so that another rule can judge the same run.
//!
//! A line of text with the layout's number and when its clock began, then the records of the ring as they came, each behind its
//! length, the length's complement and a checksum (four octets each, the lowest first). Stacks are left out: they are large, and
//! no rule asks them.

use std::io::{self, Read, Write};

use super::record;
use crate::event::Event;

/// The first line. Its number changes with the layout of a record (`bpf/events.h`), and with what a field means.
const HEADER: &str = "tinygram events 2";

/// Writes a recording.
#[derive(Debug)]
pub struct Recorder<W> {
    into: W,
}

impl<W: Write> Recorder<W> {
    /// Begins a recording. `sees_timers` is [`super::Source::sees_timers`]; `epoch_ns` is when the records' clock began,
    /// in nanoseconds since the epoch.
    ///
    /// # Errors
    ///
    /// Returns what writing returns.
    pub fn begin(mut into: W, sees_timers: bool, epoch_ns: i64) -> io::Result<Self> {
        let timers = if sees_timers { "timers" } else { "no timers" };
        writeln!(into, "{HEADER}, {timers}, {epoch_ns}")?;
        Ok(Self { into })
    }

    /// Adds a record.
    pub(super) fn add(&mut self, octets: &[u8]) -> io::Result<()> {
        if record::stack(octets).is_some() {
            return Ok(());
        }
        let length = u32::try_from(octets.len()).map_err(io::Error::other)?;
        self.into.write_all(&length.to_le_bytes())?;
        self.into.write_all(&(!length).to_le_bytes())?;
        self.into
            .write_all(&crc32fast::hash(octets).to_le_bytes())?;
        self.into.write_all(octets)
    }
}

/// A recording that was read.
#[derive(Debug)]
pub struct Recording {
    /// Whether the source reported the timers of delayed acknowledgments.
    pub sees_timers: bool,
    /// Whether the last record is cut off, as of a run that was killed; it was dropped.
    pub is_cut: bool,
    /// The events in their order.
    pub events: Vec<Event>,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// Returns what reading returns, and `InvalidData` for a file that is none of this version or is damaged.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let mut octets = Vec::new();
        from.read_to_end(&mut octets)?;
        let end = octets.iter().position(|octet| *octet == b'\n');
        let header = end.and_then(|end| std::str::from_utf8(&octets[..end]).ok());
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let words = header.and_then(|line| line.strip_prefix(HEADER)?.strip_prefix(", "));
        let (timers, epoch_ns) = words
            .and_then(|words| words.split_once(", "))
            .ok_or_else(damaged)?;
        let epoch_ns: i64 = epoch_ns.parse().map_err(|_| damaged())?;
        let sees_timers = match timers {
            "timers" => true,
            "no timers" => false,
            _ => return Err(damaged()),
        };
        let mut events = Vec::new();
        let mut rest = octets.get(end.map_or(0, |end| end + 1)..).unwrap_or(&[]);
        while let Some((head, behind)) = rest.split_first_chunk::<12>() {
            let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four"));
            if number(4) != !number(0) {
                return Err(damaged());
            }
            let Some((record, next)) = behind.split_at_checked(number(0) as usize) else {
                break;
            };
            if number(8) != crc32fast::hash(record) {
                return Err(damaged());
            }
            events.extend(record::decode(record, epoch_ns));
            rest = next;
        }
        Ok(Self {
            sees_timers,
            // Only the last record of a file that was being written can lack its end.
            is_cut: !rest.is_empty(),
            events,
        })
    }
}
