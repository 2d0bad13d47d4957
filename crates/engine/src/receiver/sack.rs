//! What a receiver says about data beyond a hole (RFC 2018, section 4), and about data that came
//! twice (RFC 2883).

use super::assembler::Assembler;
use crate::offset::{Offset, Span};
use crate::options::SackBlocks;

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
