//! SACK: reports data beyond a hole (RFC 2018, section 4), and data that came twice (RFC 2883).

use super::Receiver;
use super::assembler::Assembler;
use crate::offset::{Offset, Span};
use crate::options::SackBlocks;
use crate::segment::Segment;

/// What SACK needs besides the ranges themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackMemory {
    /// The octets that arrived last, the most recent first; each stands for the range that contains
    /// it now.
    recent: [Offset; SackBlocks::MAX],
    /// Data that arrived again and was not reported yet.
    duplicate: Option<Span>,
}

impl SackMemory {
    /// Records that `span` arrived beyond a hole.
    pub(super) fn arrived(&mut self, span: Span) {
        self.recent.rotate_right(1);
        self.recent[0] = span.start;
    }

    /// Records that `span` arrived again.
    pub(super) fn arrived_again(&mut self, span: Span) {
        self.duplicate = Some(span);
    }

    /// Records that a report left. A DSACK is sent once (RFC 2883, section 4, rule 1).
    #[inline]
    pub(super) fn reported(&mut self) {
        self.duplicate = None;
    }

    /// Returns whether there is anything to report. `fin` is the offset of a FIN that waits beyond
    /// a hole.
    #[inline]
    pub(super) fn has_news(&self, ranges: &Assembler, fin: Option<Offset>) -> bool {
        self.duplicate.is_some() || !ranges.is_empty() || fin.is_some()
    }

    /// Returns at most `most` blocks: the DSACK, then the range of what arrived last, then those
    /// reported before (RFC 2018, section 4: so several ACKs repeat each block). A FIN that waits
    /// beyond a hole takes a sequence number, and so has a place in a block.
    pub(super) fn blocks(
        &self,
        ranges: &Assembler,
        fin: Option<Offset>,
        most: usize,
    ) -> SackBlocks {
        let mut blocks: SackBlocks = self.duplicate.into_iter().take(most).collect();
        let first = blocks.len();
        let with_fin = |range: Span| match fin {
            Some(fin) if range.end == fin => Span::new(range.start, fin + 1),
            _ => range,
        };
        let alone = fin.filter(|fin| ranges.end() != Some(*fin));
        let alone = alone.map(|fin| Span::new(fin, fin + 1));
        let holding = |at: Offset| match alone {
            Some(fin) if fin.start == at => alone,
            _ => ranges.holding(at).map(with_fin),
        };
        let recent = self.recent.iter().filter_map(|at| holding(*at));
        let others = ranges.ranges().iter().rev().copied().map(with_fin);
        for range in recent.chain(alone).chain(others) {
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
    /// Sets whether both SYNs permitted SACK blocks.
    pub(crate) fn permit_sack(&mut self, permitted: bool, dsack: bool) {
        self.sack = permitted.then(SackMemory::default);
        self.dsack = dsack;
    }

    /// Returns whether a segment that leaves now is to carry SACK blocks.
    #[inline]
    pub(crate) fn has_sack_news(&self) -> bool {
        let memory = self.sack.as_ref();
        memory.is_some_and(|memory| memory.has_news(&self.assembler, self.fin_beyond_a_hole()))
    }

    /// Returns the offset of the peer's FIN, while something before it is missing.
    fn fin_beyond_a_hole(&self) -> Option<Offset> {
        self.fin.filter(|fin| *fin > self.nxt)
    }

    /// Returns the blocks, at most `most`.
    pub(crate) fn sack_blocks(&self, most: usize) -> SackBlocks {
        match &self.sack {
            Some(memory) => memory.blocks(&self.assembler, self.fin_beyond_a_hole(), most),
            None => SackBlocks::NONE,
        }
    }

    /// Records that the whole of `segment` had arrived before.
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

    /// Records which part of `all` is new (`span`), and which is not.
    pub(super) fn note_for_sack(&mut self, all: Span, span: Span) {
        let Some(memory) = &mut self.sack else {
            return;
        };
        let lone_fin = span.is_empty() && self.fin == Some(span.start);
        if (!span.is_empty() || lone_fin) && span.start > self.nxt {
            memory.arrived(span);
        }
        if !self.dsack {
            return;
        }
        let below = Span::new(all.start, all.end.min(self.nxt));
        if !below.is_empty() {
            memory.arrived_again(below);
            return;
        }
        // "A duplicate contiguous sequence of data received": the first one, wherever it lies in the
        // segment (RFC 2883, section 4).
        let again = self.assembler.ranges().iter().find_map(|range| {
            let both = Span::new(range.start.max(span.start), range.end.min(span.end));
            (!both.is_empty()).then_some(both)
        });
        if let Some(again) = again {
            memory.arrived_again(again);
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
        let blocks = memory.blocks(&ranges, None, 4);
        assert!(blocks.iter().eq([span(10, 40), span(50, 60)]), "{blocks:?}");
        memory.arrived_again(span(1, 5));
        let blocks = memory.blocks(&ranges, None, 2);
        assert!(blocks.iter().eq([span(1, 5), span(10, 40)]), "{blocks:?}");
        memory.reported();
        assert!(memory.blocks(&ranges, None, 1).iter().eq([span(10, 40)]));
    }

    #[test]
    fn a_fin_beyond_a_hole_has_a_place_in_a_block() {
        let (mut memory, mut ranges) = (SackMemory::default(), Assembler::default());
        memory.arrived(span(20, 20));
        let fin = Some(Offset::new(20));
        assert!(memory.has_news(&ranges, fin));
        assert!(memory.blocks(&ranges, fin, 4).iter().eq([span(20, 21)]));
        memory.arrived(span(10, 20));
        ranges.insert(span(10, 20));
        assert!(memory.blocks(&ranges, fin, 4).iter().eq([span(10, 21)]));
    }
}
