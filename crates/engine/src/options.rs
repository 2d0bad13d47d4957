//! The options of a segment (RFC 9293, section 3.2).

use core::fmt;
use core::marker::PhantomData;

use crate::offset::{Offset, Span};
use crate::queues::QueueCounters;
use crate::time::Duration;

/// The options of an engine's segment, whose SACK blocks are ranges of offsets.
pub type Options = TcpOptions<Offset>;

/// The engine's SACK blocks: ranges of offsets.
pub type SackBlocks = Blocks<Offset>;

/// The options after the fixed header. The default, no option, is that of a connection that agreed
/// on none. `E` is the type of a SACK block's edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions<E: Edge> {
    /// The maximum segment size in octets; only on a SYN (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// The shift that undoes the sender's window scaling; only on a SYN (RFC 7323, section 2.2).
    pub window_scale: Option<u8>,
    /// Whether the sender understands SACK blocks; only on a SYN (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// TSval and TSecr (RFC 7323, section 3.2).
    pub timestamps: Option<Timestamps>,
    /// What arrived out of order, or twice (RFC 2018, section 3; RFC 2883).
    pub sack: Blocks<E>,
    /// Whether the sender understands queue counters; only on a SYN. An experimental option (RFC 6994).
    pub counters_permitted: bool,
    /// The counters of the sender's queues; only on a pure ACK without SACK blocks, for which there would be no room
    /// beside them. An experimental option, too.
    pub counters: Option<QueueCounters>,
}

/// The timestamps option, in ticks of its sender's clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the clock of the segment's sender.
    pub value: u32,
    /// TSecr: the echoed TSval of the other side; means nothing without an ACK.
    pub echo: u32,
}

impl Timestamps {
    /// The tick of the clock (RFC 7323, section 5.4: from 1 ms to 1 s).
    pub const TICK: Duration = Duration::from_millis(1);
}

/// Up to four ranges, as many as the option space holds (RFC 2018, section 3).
///
/// They are stored as distances from the lowest of them, which keeps segments small: a segment is
/// copied several times on its way, and most have no block.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks<E: Edge> {
    /// The start of the lowest block, as high and low half; 0 for sequence numbers.
    base: [u32; 2],
    /// Start and end of each block, as distances from `base`.
    blocks: [[u32; 2]; MAX_BLOCKS],
    len: u8,
    edge: PhantomData<E>,
}

/// A TCP header has room for no more.
const MAX_BLOCKS: usize = 4;

impl<E: Edge> Blocks<E> {
    /// The most blocks that a TCP header has room for.
    pub const MAX: usize = MAX_BLOCKS;
    /// No block.
    pub const NONE: Self = Self {
        base: [0; 2],
        blocks: [[0; 2]; MAX_BLOCKS],
        len: 0,
        edge: PhantomData,
    };

    /// Returns the number of blocks.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns whether there is no block.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the blocks in the order of the option: the most recent first (RFC 2018, section 4).
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = E::Block> + '_ {
        let base = u64::from(self.base[0]) << 32 | u64::from(self.base[1]);
        let blocks = self.blocks[..self.len()].iter();
        blocks.map(move |distances| E::block(base, *distances))
    }
}

/// The edge of a SACK block: an [`Offset`], or on the wire a 32-bit sequence number.
pub trait Edge: Copy {
    /// The type of a block: its first octet and one past its last.
    type Block: fmt::Debug;

    /// Returns the block whose edges have these distances from `base`.
    fn block(base: u64, distances: [u32; 2]) -> Self::Block;
}

impl Edge for Offset {
    type Block = Span;

    #[inline]
    fn block(base: u64, distances: [u32; 2]) -> Span {
        let [start, end] = distances.map(|distance| Self::new(base) + u64::from(distance));
        Span::new(start, end)
    }
}

impl Edge for u32 {
    type Block = (Self, Self);

    #[inline]
    fn block(_: u64, [left, right]: [u32; 2]) -> (Self, Self) {
        (left, right)
    }
}

/// Blocks as on the wire: the sequence numbers of the first octet and of one past the last.
impl Blocks<u32> {
    /// Appends a block. Returns whether there was room for it.
    pub fn push(&mut self, left: u32, right: u32) -> bool {
        let place = self.blocks.get_mut(usize::from(self.len));
        let has_room = place.is_some();
        if let Some(place) = place {
            *place = [left, right];
            self.len += 1;
        }
        has_room
    }
}

impl Blocks<Offset> {
    /// Appends `block`. Returns whether there was room for it: there is room for four blocks, which
    /// must lie within four gigabytes, more than any window.
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
}

impl FromIterator<Span> for Blocks<Offset> {
    /// Collects the first four of `blocks` that find room.
    fn from_iter<T: IntoIterator<Item = Span>>(blocks: T) -> Self {
        let mut all = Self::NONE;
        for block in blocks {
            all.push(block);
        }
        all
    }
}

impl FromIterator<(u32, u32)> for Blocks<u32> {
    /// Collects the first four of `blocks`.
    fn from_iter<T: IntoIterator<Item = (u32, u32)>>(blocks: T) -> Self {
        let mut all = Self::NONE;
        for (left, right) in blocks {
            all.push(left, right);
        }
        all
    }
}

impl<E: Edge> fmt::Debug for Blocks<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Display for Blocks<Offset> {
    /// Writes tcpdump's notation: `sack 2 {3:4}{7:9}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sack {} ", self.len())?;
        self.iter().try_for_each(|block| write!(f, "{{{block}}}"))
    }
}

impl fmt::Display for Timestamps {
    /// Writes tcpdump's notation: `TS val 5 ecr 3`.
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
