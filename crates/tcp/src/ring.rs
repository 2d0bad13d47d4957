//! A ring buffer of a stream's octets, addressed by offset.

use tinygram_engine::{Offset, Span};

/// A buffer in which an octet's place is its distance from an origin, modulo the buffer's size. It
/// grows by doubling as needed; its owner ensures that no more than its limit is needed.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    /// The memory: its length is a power of two, or zero.
    octets: Vec<u8>,
    /// The offset of the first place.
    origin: u64,
}

/// The first allocation, in octets: idle connections stay small.
const LEAST: usize = 2048;

impl Ring {
    /// Returns how many octets of memory it takes.
    pub(crate) fn allocated(&self) -> usize {
        self.octets.len()
    }

    /// Frees its memory. None of its contents is needed any more.
    pub(crate) fn release(&mut self) {
        self.octets = Vec::new();
    }

    /// Sets the origin to `next`, the offset of what comes next, because nothing in the buffer is
    /// needed any more. So the next octets go to the beginning, which is still in the processor's
    /// caches, instead of to memory that was not touched for long.
    #[inline]
    pub(crate) fn restart(&mut self, next: Offset) {
        self.origin = next.get();
    }

    /// Makes room for all of `span`, and keeps the octets from `span.start` up to `kept`.
    #[inline]
    pub(crate) fn reserve(&mut self, span: Span, kept: Offset) {
        if span.len() > self.octets.len() as u64 {
            self.grow(span, kept);
        }
    }

    #[cold]
    fn grow(&mut self, span: Span, kept: Offset) {
        let size = (span.len() as usize).next_power_of_two().max(LEAST);
        let mut larger = Self {
            octets: vec![0; size],
            origin: span.start.get(),
        };
        if kept > span.start && !self.octets.is_empty() {
            let (first, second) = self.slices(Span::new(span.start, kept));
            larger.put(span.start, first);
            larger.put(span.start + first.len() as u64, second);
        }
        *self = larger;
    }

    /// Stores octets at their place, for which there must be room.
    #[inline]
    pub(crate) fn put(&mut self, start: Offset, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        let at = self.place(start);
        let until_the_end = octets.len().min(self.octets.len() - at);
        let (first, second) = octets.split_at(until_the_end);
        self.octets[at..at + first.len()].copy_from_slice(first);
        self.octets[..second.len()].copy_from_slice(second);
    }

    /// Returns the octets of `span`, all of which must have been stored; in two pieces if they wrap
    /// around.
    #[inline]
    pub(crate) fn slices(&self, span: Span) -> (&[u8], &[u8]) {
        if span.is_empty() {
            return (&[], &[]);
        }
        let (at, len) = (self.place(span.start), span.len() as usize);
        let first = len.min(self.octets.len() - at);
        (&self.octets[at..at + first], &self.octets[..len - first])
    }

    #[inline]
    fn place(&self, offset: Offset) -> usize {
        offset.get().wrapping_sub(self.origin) as usize & (self.octets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span::new(Offset::new(start), Offset::new(end))
    }

    fn octets(range: std::ops::Range<u64>) -> Vec<u8> {
        range.map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn octets_stay_where_they_are_while_the_ring_turns_and_grows() {
        let mut ring = Ring::default();
        let (mut read, mut written) = (1, 1);
        for step in 1..200 {
            let more = 97 * step % 3000;
            ring.reserve(span(read, written + more), Offset::new(written));
            ring.put(Offset::new(written), &octets(written..written + more));
            written += more;
            let less = (written - read).min(89 * step % 3100);
            let (first, second) = ring.slices(span(read, read + less));
            assert_eq!([first, second].concat(), octets(read..read + less));
            read += less;
            if read == written {
                ring.restart(Offset::new(read));
            }
        }
        assert!(ring.allocated().is_power_of_two());
    }

    #[test]
    fn what_lies_beyond_a_hole_survives_growth() {
        let mut ring = Ring::default();
        ring.reserve(span(1, 2001), Offset::new(1));
        ring.put(Offset::new(1501), &octets(1501..2001));
        ring.reserve(span(1, 9001), Offset::new(2001));
        let (first, second) = ring.slices(span(1501, 2001));
        assert_eq!([first, second].concat(), octets(1501..2001));
    }
}
