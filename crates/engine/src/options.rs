//! The options of a segment besides its MSS (RFC 9293, section 3.2).

use std::fmt;

use crate::offset::{Offset, Span};
use crate::time::Duration;

/// What stands behind the fixed header. A segment of a connection that agreed on nothing carries
/// the default: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The shift that undoes the sender's window scaling; only on a SYN (RFC 7323, section 2.2).
    pub window_scale: Option<u8>,
    /// SACK blocks are understood; only on a SYN (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// TSval and TSecr (RFC 7323, section 3.2).
    pub timestamps: Option<Timestamps>,
    /// What arrived out of order, or twice (RFC 2018, section 3; RFC 2883).
    pub sack: SackBlocks,
}

/// The timestamps option, in ticks of its sender's clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the clock of whoever sent the segment.
    pub value: u32,
    /// TSecr: a TSval of the other side's that is being echoed; means nothing without an ACK.
    pub echo: u32,
}

impl Timestamps {
    /// The clock's tick (RFC 7323, section 5.4: from 1 ms to 1 s).
    pub const TICK: Duration = Duration::from_millis(1);
}

/// Up to four ranges, as many as the option space has room for (RFC 2018, section 3).
///
/// They are kept as distances from the lowest of them: a segment is copied several times on its
/// way, and most have no block.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// Where the lowest block starts: the high and the low half.
    base: [u32; 2],
    /// Start and end of each, as distances from there.
    blocks: [[u32; 2]; Self::MAX],
    len: u8,
}

impl SackBlocks {
    /// No TCP header has room for more.
    pub const MAX: usize = 4;
    /// No block.
    pub const NONE: Self = Self {
        base: [0; 2],
        blocks: [[0; 2]; Self::MAX],
        len: 0,
    };

    /// Adds `block` behind the others. Gives whether there was room for it: there are no more than
    /// four, and no window is so large that they can be further apart than four gigabytes.
    pub fn push(&mut self, block: Span) -> bool {
        let mut all = [Span::default(); Self::MAX];
        let len = self.len();
        if len == Self::MAX {
            return false;
        }
        for (place, known) in all.iter_mut().zip(self.iter()) {
            *place = known;
        }
        all[len] = block;
        let all = &all[..=len];
        let base = all.iter().map(|b| b.start).min().unwrap_or(block.start);
        let fits = |b: &Span| b.end >= b.start && b.end.since(base) <= u64::from(u32::MAX);
        if !all.iter().all(fits) {
            return false;
        }
        self.base = [(base.get() >> 32) as u32, base.get() as u32];
        for (place, b) in self.blocks.iter_mut().zip(all) {
            *place = [b.start.since(base) as u32, b.end.since(base) as u32];
        }
        self.len += 1;
        true
    }

    /// How many there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks in the order of the option: the most recent first (RFC 2018, section 4).
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        let base = Offset::new(u64::from(self.base[0]) << 32 | u64::from(self.base[1]));
        let span = move |[start, end]: &[u32; 2]| {
            Span::new(base + u64::from(*start), base + u64::from(*end))
        };
        self.blocks[..self.len()].iter().map(span)
    }
}

impl FromIterator<Span> for SackBlocks {
    /// The first four of `blocks` that find room.
    fn from_iter<T: IntoIterator<Item = Span>>(blocks: T) -> Self {
        let mut all = Self::NONE;
        for block in blocks {
            all.push(block);
        }
        all
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Display for SackBlocks {
    /// tcpdump's notation: `sack 2 {3:4}{7:9}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sack {} ", self.len())?;
        self.iter().try_for_each(|block| write!(f, "{{{block}}}"))
    }
}

impl fmt::Display for Timestamps {
    /// tcpdump's notation: `TS val 5 ecr 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TS val {} ecr {}", self.value, self.echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span::new(Offset::new(start), Offset::new(end))
    }

    #[test]
    fn no_more_than_four_blocks() {
        let mut blocks: SackBlocks = (1..9).map(|n| span(n * 10, n * 10 + 5)).collect();
        assert_eq!(blocks.len(), SackBlocks::MAX);
        assert!(!blocks.push(span(1, 2)));
        assert_eq!(blocks.to_string(), "sack 4 {10:15}{20:25}{30:35}{40:45}");
    }

    #[test]
    fn blocks_keep_their_order_and_their_places() {
        let far = 7 << 32;
        let all = [
            span(far + 9, far + 12),
            span(far, far + 5),
            span(far + 6, far + 7),
        ];
        let blocks = SackBlocks::from_iter(all);
        assert!(blocks.iter().eq(all));
        let mut blocks = SackBlocks::from_iter(all);
        assert!(!blocks.push(span(1, 2)), "too far apart");
        assert!(!blocks.push(Span::new(Offset::new(far + 2), Offset::new(far + 1))));
        assert!(blocks.iter().eq(all));
    }
}
