//! Surveys a log: how often each size was sent, when the log begins and ends, and which lines could
//! not be read.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;

use crate::line::{Body, Response, Unreadable, parse};
use crate::lines::{self, Piece};

/// The counts of one log, or of several logs together.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// All lines.
    pub lines: u64,
    /// Lines that are not a response.
    pub unreadable: u64,
    /// Answers to HEAD.
    pub head: u64,
    /// Responses with the status 304.
    pub not_modified: u64,
    /// Other responses without a body.
    pub empty: u64,
    /// The earliest and the latest time, in seconds since 1970 UTC. Servers write a line when the
    /// response is done, so lines are not in the order of their times.
    pub times: Option<(i64, i64)>,
    /// The first line that is not a response.
    pub first_unreadable: Option<FirstUnreadable>,
    /// How often each size was sent, in octets. A hash map, because sizes are looked up often and
    /// listed once.
    sizes: HashMap<u64, u64>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstUnreadable {
    /// The line's number; the first line is 1.
    pub number: u64,
    /// The part that is missing.
    pub why: Unreadable,
    /// The beginning of the line, without characters that could steer a terminal.
    pub text: String,
}

impl Survey {
    /// Reads a log to its end. A log in gzip (also several gzip members one after the other) is
    /// recognized by its first two octets.
    ///
    /// # Errors
    /// Returns the error of reading; damage to the gzip container is one.
    pub fn read(source: impl Read) -> io::Result<Self> {
        let mut source = BufReader::with_capacity(INPUT_BUFFER, source);
        let mut magic = [0; 2];
        let known = read_as_far_as_it_goes(&mut source, &mut magic)?;
        let mut whole = magic[..known].chain(source);
        let mut survey = Self::default();
        if magic == GZIP {
            lines::each(&mut MultiGzDecoder::new(whole), |piece| survey.take(&piece))?;
        } else {
            lines::each(&mut whole, |piece| survey.take(&piece))?;
        }
        Ok(survey)
    }

    fn take(&mut self, piece: &Piece<'_>) {
        self.lines += 1;
        let read = match *piece {
            Piece::Line(line) => parse(line).map_err(|why| (why, line)),
            Piece::TooLong(line) => Err((Unreadable::End, line)),
        };
        match read {
            Ok(response) => self.count(response),
            Err((why, line)) => {
                self.unreadable += 1;
                if self.first_unreadable.is_none() {
                    self.first_unreadable = Some(FirstUnreadable {
                        number: self.lines,
                        why,
                        text: printable(line),
                    });
                }
            }
        }
    }

    fn count(&mut self, response: Response) {
        let (first, last) = self.times.get_or_insert((response.time, response.time));
        *first = response.time.min(*first);
        *last = response.time.max(*last);
        match response.body {
            Body::Octets(octets) => *self.sizes.entry(octets).or_default() += 1,
            Body::Empty => self.empty += 1,
            Body::Head => self.head += 1,
            Body::NotModified => self.not_modified += 1,
        }
    }

    /// Adds another log's counts. After this, nobody knows which log the first unreadable line
    /// belongs to.
    pub fn absorb(&mut self, other: &Self) {
        self.lines += other.lines;
        self.unreadable += other.unreadable;
        self.head += other.head;
        self.not_modified += other.not_modified;
        self.empty += other.empty;
        self.first_unreadable = None;
        self.times = match (self.times, other.times) {
            (Some(ours), Some(theirs)) => Some((ours.0.min(theirs.0), ours.1.max(theirs.1))),
            (ours, theirs) => ours.or(theirs),
        };
        for (size, count) in &other.sizes {
            *self.sizes.entry(*size).or_default() += count;
        }
    }

    /// Adds `count` responses with a body of `octets` octets. The caller must count their lines.
    pub fn add_size(&mut self, octets: u64, count: u64) {
        *self.sizes.entry(octets).or_default() += count;
    }

    /// Returns how many lines are responses.
    #[must_use]
    pub fn responses(&self) -> u64 {
        self.lines - self.unreadable
    }

    /// Returns how often each size was sent, the smallest first.
    #[must_use]
    pub fn sizes(&self) -> Vec<(u64, u64)> {
        let mut sizes: Vec<_> = self
            .sizes
            .iter()
            .map(|(&size, &count)| (size, count))
            .collect();
        sizes.sort_unstable();
        sizes
    }
}

/// `2015-05-17T10:05:03Z`.
#[must_use]
pub fn utc(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |at| at.to_string())
}

/// Reads until `into` is full or the source ends, because a pipe returns what it has, and gzip's
/// magic number may come in two reads.
fn read_as_far_as_it_goes(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut known = 0;
    while known < into.len() {
        match source.read(&mut into[known..]) {
            Ok(0) => break,
            Ok(read) => known += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(known)
}

/// Returns the line without control characters, because a log holds what strangers sent and must not steer a terminal.
fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
    let mut shown: String = text
        .trim_end()
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .take(SHOWN)
        .collect();
    if text.trim_end().chars().count() > SHOWN || line.len() > 4 * SHOWN {
        shown += "...";
    }
    shown
}

const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The size of the buffer for the gzip decoder, which asks for a little at a time; large reads of
/// plain logs bypass it.
const INPUT_BUFFER: usize = 1 << 17;
/// How many characters of a line are shown.
const SHOWN: usize = 160;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const LOG: &str = "\
h - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 203023
h - - [17/May/2015:10:05:00 +0000] \"GET /a HTTP/1.1\" 200 203023
what is \x1b[31mthis
h - - [18/May/2015:10:05:03 +0000] \"GET /b HTTP/1.1\" 404 7
h - - [17/May/2015:12:05:03 +0200] \"HEAD /b HTTP/1.1\" 200 7
h - - [17/May/2015:10:05:03 +0000] \"GET /b HTTP/1.1\" 304 -
h - - [17/May/2015:10:05:03 +0000] \"GET /b HTTP/1.1\" 204 0
";

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder
            .write_all(text.as_bytes())
            .expect("memory is writable");
        encoder.finish().expect("memory is writable")
    }

    #[test]
    fn every_line_is_counted_somewhere() {
        let survey = Survey::read(LOG.as_bytes()).expect("memory is readable");
        assert_eq!(survey.lines, 7);
        assert_eq!(survey.sizes(), [(7, 1), (203_023, 2)]);
        let apart = (
            survey.head,
            survey.not_modified,
            survey.empty,
            survey.unreadable,
        );
        assert_eq!(apart, (1, 1, 1, 1));
        let (first, last) = survey.times.expect("there are times");
        assert_eq!(utc(first), "2015-05-17T10:05:00Z");
        assert_eq!(utc(last), "2015-05-18T10:05:03Z");
    }

    #[test]
    fn the_first_unreadable_line_is_kept_without_what_steers_a_terminal() {
        let survey = Survey::read(LOG.as_bytes()).expect("memory is readable");
        let first = survey.first_unreadable.expect("there is one");
        assert_eq!((first.number, first.why), (3, Unreadable::Time));
        assert_eq!(first.text, "what is \u{fffd}[31mthis");
    }

    #[test]
    fn gzip_is_told_by_its_content_and_may_have_several_members() {
        let (one, other) = LOG.split_at(150);
        let packed = [gzip(one), gzip(other)].concat();
        let survey = Survey::read(&packed[..]).expect("it is whole");
        assert_eq!(survey.lines, 7);
        assert_eq!(survey.sizes(), [(7, 1), (203_023, 2)]);
        let cut_off = Survey::read(&packed[..packed.len() - 9]);
        assert!(cut_off.is_err(), "a gzip file without its end");
    }

    #[test]
    fn short_logs_are_no_trouble() {
        for (text, lines) in [("", 0), ("\n", 1), ("x", 1)] {
            let survey = Survey::read(text.as_bytes()).expect("memory is readable");
            assert_eq!(
                (survey.lines, survey.unreadable),
                (lines, lines),
                "{text:?}"
            );
        }
    }

    #[test]
    fn two_logs_taken_together_are_one_log() {
        let (one, other) = LOG.split_at(LOG.find("what").expect("it is there"));
        let read = |text: &str| Survey::read(text.as_bytes()).expect("memory is readable");
        let (mut both, whole) = (read(one), read(LOG));
        both.absorb(&read(other));
        assert_eq!(both.sizes(), whole.sizes());
        assert_eq!((both.lines, both.times), (whole.lines, whole.times));
        assert_eq!(both.unreadable, whole.unreadable);
    }
}
