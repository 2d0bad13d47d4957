//! What a receiver says about data beyond a hole (RFC 2018, section 4), and about data that came
//! twice (RFC 2883).

use super::Receiver;
use super::assembler::Assembler;
use crate::offset::{Offset, Span};
use crate::options::SackBlocks;
use crate::segment::Segment;

/// What is remembered besides the ranges themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackMemory {
    /// Octets that arrived last, the most recent first; each stands for the range it is in now.
    recent: [Offset; SackBlocks::MAX],
    /// Data that arrived again and was not reported yet.
    duplicate: Option<Span>,
}

impl SackMemory {
    /// `span` arrived beyond a hole.
    pub(super) fn arrived(&mut self, span: Span) {
        self.recent.rotate_right(1);
        self.recent[0] = span.start;
    }

    /// `span` had arrived before.
    pub(super) fn arrived_again(&mut self, span: Span) {
        self.duplicate = Some(span);
    }

    /// A report left. A DSACK is sent once (RFC 2883, section 4, rule 1).
    #[inline]
    pub(super) fn reported(&mut self) {
        self.duplicate = None;
    }

    /// Whether there is anything to say.
    #[inline]
    pub(super) fn has_news(&self, ranges: &Assembler) -> bool {
        self.duplicate.is_some() || !ranges.is_empty()
    }

    /// At most `most` blocks: the DSACK, then the range of what arrived last, then those reported
    /// before it (RFC 2018, section 4: each block is so repeated in several ACKs).
    pub(super) fn blocks(&self, ranges: &Assembler, most: usize) -> SackBlocks {
        let mut blocks: SackBlocks = self.duplicate.into_iter().take(most).collect();
        let first = blocks.len();
        let recent = self.recent.iter().filter_map(|at| ranges.holding(*at));
        for range in recent.chain(ranges.ranges().iter().rev().copied()) {
            if blocks.len() >= most {
                break;
            }
            if !blocks.iter().skip(first).any(|block| block == range) {
                blocks.push(range);
            }
        }
        blocks
    }
}

impl Receiver {
    /// Both SYNs permitted SACK blocks, or not.
    pub(crate) fn permit_sack(&mut self, permitted: bool, dsack: bool) {
        self.sack = permitted.then(SackMemory::default);
        self.dsack = dsack;
    }

    /// Whether a segment that leaves now is to carry SACK blocks.
    #[inline]
    pub(crate) fn has_sack_news(&self) -> bool {
        let memory = self.sack.as_ref();
        memory.is_some_and(|memory| memory.has_news(&self.assembler))
    }

    /// The blocks, at most `most`.
    pub(crate) fn sack_blocks(&self, most: usize) -> SackBlocks {
        match &self.sack {
            Some(memory) => memory.blocks(&self.assembler, most),
            None => SackBlocks::NONE,
        }
    }

    /// The whole of `segment` had arrived before.
    pub(crate) fn note_duplicate(&mut self, segment: &Segment) {
        let span = segment.data();
        if let Some(memory) = &mut self.sack
            && self.dsack
            && !span.is_empty()
            && span.end <= self.nxt
        {
            memory.arrived_again(span);
        }
    }

    /// What of `all` is new, as far as `span`, and what is not.
    pub(super) fn note_for_sack(&mut self, all: Span, span: Span) {
        let Some(memory) = &mut self.sack else {
            return;
        };
        if !span.is_empty() && span.start > self.nxt {
            memory.arrived(span);
        }
        if !self.dsack {
            return;
        }
        let below = Span::new(all.start, all.end.min(self.nxt));
        if !below.is_empty() {
            memory.arrived_again(below);
        } else if let Some(range) = self.assembler.holding(span.start)
            && span.start < range.end.min(span.end)
        {
            memory.arrived_again(Span::new(span.start, range.end.min(span.end)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span::new(Offset::new(start), Offset::new(end))
    }

    #[test]
    fn the_most_recent_range_comes_first_and_a_duplicate_before_it() {
        let (mut memory, mut ranges) = (SackMemory::default(), Assembler::default());
        for start in [30, 10, 50, 20] {
            memory.arrived(span(start, start + 10));
            ranges.insert(span(start, start + 10));
        }
        // 10, 20 and 30 have become one range.
        let blocks = memory.blocks(&ranges, 4);
        assert!(blocks.iter().eq([span(10, 40), span(50, 60)]), "{blocks:?}");
        memory.arrived_again(span(1, 5));
        let blocks = memory.blocks(&ranges, 2);
        assert!(blocks.iter().eq([span(1, 5), span(10, 40)]), "{blocks:?}");
        memory.reported();
        assert!(memory.blocks(&ranges, 1).iter().eq([span(10, 40)]));
    }
}
