//! Ranges that arrived ahead of a hole (RFC 9293, section 3.10.7.4: "segments with higher
//! beginning sequence numbers SHOULD be held").

use alloc::vec::Vec;

use crate::offset::{Offset, Span};

/// The most separate ranges that are remembered; octets of further ones must be sent again. This
/// bounds the memory that a hostile peer can make a receiver use.
pub const MAX_RANGES: usize = 64;

/// Ordered and disjoint ranges that do not touch.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    ranges: Vec<Span>,
}

impl Assembler {
    /// Returns whether no range waits for a hole to be filled.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the ranges, lowest first.
    #[must_use]
    pub fn ranges(&self) -> &[Span] {
        &self.ranges
    }

    /// Returns the range that contains `at`.
    #[must_use]
    pub fn holding(&self, at: Offset) -> Option<Span> {
        let next = self.ranges.partition_point(|r| r.end <= at);
        let range = self.ranges.get(next).copied();
        range.filter(|range| range.start <= at)
    }

    /// Returns one past the last octet remembered, if there is one.
    #[must_use]
    pub fn end(&self) -> Option<Offset> {
        self.ranges.last().map(|range| range.end)
    }

    /// Remembers `span`, unless there are too many ranges already. Returns whether it is remembered.
    pub fn insert(&mut self, span: Span) -> bool {
        if span.is_empty() {
            return true;
        }
        // Those from `first` up to `last` overlap or touch the new one and become part of it.
        let first = self.ranges.partition_point(|r| r.end < span.start);
        let last = self.ranges.partition_point(|r| r.start <= span.end);
        if first == last {
            if self.ranges.len() >= MAX_RANGES {
                return false;
            }
            self.ranges.insert(first, span);
            return true;
        }
        let start = span.start.min(self.ranges[first].start);
        let end = span.end.max(self.ranges[last - 1].end);
        self.ranges[first] = Span::new(start, end);
        self.ranges.drain(first + 1..last);
        true
    }

    /// Removes the ranges that are now contiguous with `next`, and returns the new end of the
    /// stream.
    pub fn advance(&mut self, next: Offset) -> Offset {
        let reached = self.ranges.partition_point(|r| r.start <= next);
        let end = self.ranges[..reached]
            .iter()
            .map(|r| r.end)
            .fold(next, Offset::max);
        self.ranges.drain(..reached);
        end
    }
}
