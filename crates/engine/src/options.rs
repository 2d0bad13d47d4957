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
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Span; Self::MAX],
    len: u8,
}

impl SackBlocks {
    /// No TCP header has room for more.
    pub const MAX: usize = 4;
    /// No block.
    pub const NONE: Self = Self {
        blocks: [Span::new(Offset::SYN, Offset::SYN); Self::MAX],
        len: 0,
    };

    /// Adds `block` behind the others. Gives whether there was room.
    pub fn push(&mut self, block: Span) -> bool {
        let room = self.len() < Self::MAX;
        if room {
            self.blocks[self.len()] = block;
            self.len += 1;
        }
        room
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
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[Span] {
        &self.blocks[..self.len()]
    }

    /// The blocks in the order of the option.
    pub fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.as_slice().iter().copied()
    }
}

impl FromIterator<Span> for SackBlocks {
    /// The first four of `blocks`.
    fn from_iter<T: IntoIterator<Item = Span>>(blocks: T) -> Self {
        let mut all = Self::NONE;
        for block in blocks.into_iter().take(Self::MAX) {
            all.push(block);
        }
        all
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
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
}
