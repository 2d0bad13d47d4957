//! A window that slides over a stream: it keeps the bytes that are still needed in memory and drops
//! those that are done with.

use std::error::Error;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use super::CaptureError;

pub(super) struct Window {
    source: Box<dyn Read>,
    /// The name of the format that the source unpacks, if it unpacks one.
    packed: Option<&'static str>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the stream, for messages.
    offset: u64,
}

impl Window {
    pub(super) fn new(source: Box<dyn Read>) -> Self {
        Self {
            source,
            packed: None,
            buffer: vec![0; FIRST_CAPACITY],
            start: 0,
            end: 0,
            offset: 0,
        }
    }

    /// Returns a window over what `source` unpacks of this format.
    pub(super) fn unpacked(packed: &'static str, source: Box<dyn Read>) -> Self {
        Self {
            packed: Some(packed),
            ..Self::new(source)
        }
    }

    /// Makes at least `count` bytes available; false if the stream ends before.
    ///
    /// Never asks the source for more once it has enough, so it does not wait for a live pipe
    /// without need.
    #[inline]
    pub(super) fn need(&mut self, count: usize) -> Result<bool, CaptureError> {
        if self.end - self.start >= count {
            return Ok(true);
        }
        self.fill(count)
    }

    #[cold]
    fn fill(&mut self, count: usize) -> Result<bool, CaptureError> {
        if self.start + count > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if count > self.buffer.len() {
                self.buffer.resize(count.next_power_of_two(), 0);
            }
        }
        while self.end - self.start < count {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    self.end += read;
                    // There is more than a small buffer takes.
                    if self.end == self.buffer.len() && self.end < CAPACITY {
                        self.buffer.resize(2 * self.end, 0);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(true)
    }

    fn failed(&self, error: io::Error) -> CaptureError {
        match self.packed {
            Some(packed) if ends_early(&error) => CaptureError::PackedCutOff {
                packed,
                at: self.offset + (self.end - self.start) as u64,
            },
            _ => CaptureError::Io(error),
        }
    }

    /// Returns the bytes that are available now.
    #[inline]
    pub(super) fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Steps over `count` available bytes and returns where they are until the next `need`.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) -> Range<usize> {
        let taken = self.start..self.start + count;
        debug_assert!(taken.end <= self.end);
        self.start = taken.end;
        self.offset += count as u64;
        taken
    }

    #[inline]
    pub(super) fn lent(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns true if the stream has ended and nothing is left.
    pub(super) fn at_end(&mut self) -> Result<bool, CaptureError> {
        Ok(!self.need(1)?)
    }
}

/// Returns whether an unpacker failed because there was no more to unpack: it or a reason of it says so.
fn ends_early(error: &io::Error) -> bool {
    let is_end = |it: &(dyn Error + 'static)| {
        let it = it.downcast_ref::<io::Error>();
        it.is_some_and(|it| it.kind() == ErrorKind::UnexpectedEof)
    };
    let mut reason = error.get_ref().map(|it| it as &(dyn Error + 'static));
    while let Some(it) = reason {
        if is_end(it) {
            return true;
        }
        reason = it.source();
    }
    error.kind() == ErrorKind::UnexpectedEof
}

/// Many captures are small.
const FIRST_CAPACITY: usize = 8 * 1024;
/// Large enough that reads are rare, small enough to stay in the second-level cache.
const CAPACITY: usize = 64 * 1024;

impl Read for Window {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.start == self.end {
            return self.source.read(into);
        }
        let count = into.len().min(self.end - self.start);
        into[..count].copy_from_slice(&self.buffer[self.start..self.start + count]);
        self.start += count;
        Ok(count)
    }
}
