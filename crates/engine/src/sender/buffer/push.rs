//! Where PSH is set: after what a write wrote, as on Linux (`tcp_mark_push`, `tcp_push`).
//!
//! The kernel marks the buffer that holds the last octet. If a later write fills the same buffer
//! up, the kernel removes the mark; so a mark inside unsent data lasts only until something is
//! written after it.

use alloc::collections::VecDeque;

use crate::sender::sequence::Sequence;
use alloc::boxed::Box;

use crate::extensions::PushEndsWrites;
use crate::offset::Offset;
use crate::segment::{Flags, Segment};

/// The marks that are not acknowledged yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pushes {
    /// Ends of segments that carry PSH, in order.
    ends: VecDeque<Offset>,
    /// Ends of segments that were handed to the device together, in order.
    bursts: VecDeque<Offset>,
    /// The start of the kernel buffer that is being filled.
    tail: Offset,
    /// The last mark ever made (`pushed_seq`).
    last: Offset,
    /// The least number of segments that are handed to the device together.
    least_burst: u64,
    /// The starts of unsent kernel buffers, in order; kept if memory is counted.
    starts: VecDeque<Offset>,
    /// The octets of memory that a kernel buffer takes besides its data, if memory is counted.
    overhead: Option<u64>,
}

/// A piece of a write that is about to be appended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceOfWrite {
    pub(crate) octets: u64,
    /// Whether the write that wrote the present end of the buffer continues.
    pub(crate) goes_on: bool,
    /// Whether more was announced.
    pub(crate) more: bool,
}

/// What a writer may fill before it waits, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Memory.
    pub(crate) memory: u64,
    /// What has not left.
    pub(crate) unsent: u64,
}

/// The most octets in a kernel buffer (Linux: `sk_gso_max_size`).
const MOST: u64 = 65_000;
/// If the window is smaller than this, in octets, the half-window rule does not apply
/// (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;

impl Pushes {
    pub(crate) fn new(rule: PushEndsWrites) -> Box<Self> {
        Box::new(Self {
            least_burst: rule.least_burst.into(),
            overhead: rule.buffer_overhead.map(u64::from),
            // The SYN counts as marked (`tcp_connect`).
            last: Offset::FIRST,
            ..Self::default()
        })
    }

    /// Sets a mark, whatever was announced.
    pub(crate) fn mark(&mut self, at: Offset) {
        if self.ends.back() != Some(&at) {
            self.ends.push_back(at);
        }
        self.last = at;
    }

    /// Records the end of segments that are handed over together, and sets PSH on the last of
    /// several. They are never joined with others at this end.
    fn push_burst(&mut self, burst: &mut [Segment]) {
        if let [.., last] = burst
            && self.bursts.back().is_none_or(|end| *end < last.data().end)
        {
            self.bursts.push_back(last.data().end);
        }
        if let [_, .., last] = burst {
            last.flags = last.flags.with(Flags::PSH);
        }
    }

    /// Returns whether more than half of the peer's largest window was written without a mark.
    fn is_due(&self, at: Offset, seq: &Sequence) -> bool {
        at > self.last + seq.max_wnd / 2
    }

    /// Returns the octets that one kernel buffer holds (`tcp_xmit_size_goal`).
    fn full(seq: &Sequence, mss: u32) -> u64 {
        let half = match seq.max_wnd {
            small if small <= SMALL_WINDOW => small,
            window => window / 2,
        };
        let mss = u64::from(mss);
        (MOST.min(half) / mss).max(1) * mss
    }

    /// Records that a piece is about to be appended.
    pub(crate) fn appended(&mut self, piece: &PieceOfWrite, seq: &Sequence, mss: u32) {
        let full = Self::full(seq, mss);
        let mut at = seq.written;
        self.tail = self.tail.max(seq.nxt);
        let filled = at.since(self.tail);
        let mut moves = false;
        if filled >= full || filled == 0 {
            self.begin_buffer(at);
        } else if self.ends.back() == Some(&at) {
            self.ends.pop_back();
            moves = piece.goes_on;
        }
        let end = at + piece.octets;
        loop {
            at = end.min(self.tail + full);
            if at == end {
                break;
            }
            if self.is_due(at, seq) {
                self.mark(at);
            }
            self.begin_buffer(at);
        }
        if !piece.more || self.is_due(end, seq) {
            self.mark(end);
        } else if moves {
            self.ends.push_back(end);
        }
    }

    fn begin_buffer(&mut self, at: Offset) {
        self.tail = at;
        if self.overhead.is_some() {
            self.starts.push_back(at);
        }
    }

    /// Returns the octets of memory that unacknowledged data takes (`sk_wmem_queued`), or `None` if
    /// memory is not counted. Segments that leave together are a kernel buffer of their own.
    pub(crate) fn memory(&self, seq: &Sequence) -> Option<u64> {
        let overhead = self.overhead?;
        let sent = self.starts.partition_point(|start| *start < seq.nxt);
        let cut = self.starts.get(sent) != Some(&seq.nxt) && seq.written > seq.nxt;
        let buffers = self.bursts.len() + self.starts.len() - sent + usize::from(cut);
        Some(seq.buffered() + overhead * buffers as u64)
    }

    /// Returns the most octets of the next piece of a write; `None` if memory is not counted.
    pub(crate) fn room(&self, seq: &Sequence, mss: u32, bounds: &Bounds) -> Option<u64> {
        let memory = self.memory(seq)?;
        let full = Self::full(seq, mss);
        let filled = seq.written.since(self.tail.max(seq.nxt));
        Some(match filled {
            1.. if filled < full => full - filled,
            _ if memory < bounds.memory && seq.unsent() < bounds.unsent => full,
            _ => 0,
        })
    }

    /// Returns whether memory is counted.
    pub(crate) fn counts_memory(&self) -> bool {
        self.overhead.is_some()
    }

    /// Returns the least number of segments that are handed to the device together.
    pub(crate) fn least_burst(&self) -> u64 {
        self.least_burst
    }

    /// Returns whether a data segment that ends at `end` carries PSH.
    #[inline]
    pub(crate) fn is_marked(&self, end: Offset) -> bool {
        self.ends.binary_search(&end).is_ok()
    }

    /// Sets PSH on the last segment of each group of at most `most` that the kernel would hand to
    /// the device together, so that the peer's GRO need not wait (`__tcp_transmit_skb`).
    pub(crate) fn push_bursts(&mut self, left: &mut [Segment], most: usize, mss: u32) {
        let mut begins = 0;
        for at in 0..left.len() {
            let joins = at > begins
                && at - begins < most
                && left[at].len > 0
                // A probe of the path's MTU leaves alone.
                && left[at - 1].len <= mss
                && left[at - 1].data().end == left[at].seq
                && !left[at - 1].flags.has(Flags::PSH)
                && self.bursts.binary_search(&left[at].seq).is_err();
            if !joins {
                self.push_burst(&mut left[begins..at]);
                begins = at;
            }
        }
        self.push_burst(&mut left[begins..]);
    }

    /// Removes the marks of what was acknowledged, before `una`.
    pub(crate) fn forget(&mut self, una: Offset) {
        while self.ends.front().is_some_and(|end| *end <= una) {
            self.ends.pop_front();
        }
        while self.bursts.front().is_some_and(|end| *end <= una) {
            self.bursts.pop_front();
        }
        while self.starts.front().is_some_and(|start| *start < una) {
            self.starts.pop_front();
        }
    }
}
