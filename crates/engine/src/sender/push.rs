//! Where PSH is set: after what a write wrote, as on Linux (`tcp_mark_push`, `tcp_push`).
//!
//! The kernel marks the buffer that holds the last octet. If a later write fills the same buffer
//! up, the kernel removes the mark; so a mark inside unsent data lasts only until something is
//! written after it.

use alloc::collections::VecDeque;

use super::Sender;
use super::send_policy::Vars;
use alloc::boxed::Box;

use crate::offset::Offset;
use crate::segment::{Flags, Segment};

/// The marks that are not acknowledged yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Pushes {
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

/// The most octets in a kernel buffer (Linux: `sk_gso_max_size`).
const MOST: u64 = 65_000;
/// If the window is smaller than this, in octets, the half-window rule does not apply
/// (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u64 = 536;

impl Pushes {
    pub(super) fn new(least_burst: u32, overhead: Option<u32>) -> Box<Self> {
        Box::new(Self {
            least_burst: least_burst.into(),
            overhead: overhead.map(u64::from),
            // The SYN counts as marked (`tcp_connect`).
            last: Offset::FIRST,
            ..Self::default()
        })
    }

    fn mark(&mut self, at: Offset) {
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
    fn is_due(&self, at: Offset, vars: &Vars) -> bool {
        at > self.last + vars.max_wnd / 2
    }

    /// Returns the octets that one kernel buffer holds (`tcp_xmit_size_goal`).
    fn full(vars: &Vars) -> u64 {
        let half = match vars.max_wnd {
            small if small <= SMALL_WINDOW => small,
            window => window / 2,
        };
        let mss = u64::from(vars.mss);
        (MOST.min(half) / mss).max(1) * mss
    }

    /// Records that `octets` are appended. `goes_on` says that the write that wrote the present end
    /// continues, and `more` announces further writes.
    fn appended(&mut self, octets: u64, goes_on: bool, more: bool, vars: &Vars) {
        let full = Self::full(vars);
        let mut at = vars.written;
        self.tail = self.tail.max(vars.nxt);
        let filled = at.since(self.tail);
        let mut moves = false;
        if filled >= full || filled == 0 {
            self.begin_buffer(at);
        } else if self.ends.back() == Some(&at) {
            self.ends.pop_back();
            moves = goes_on;
        }
        let end = at + octets;
        loop {
            at = end.min(self.tail + full);
            if at == end {
                break;
            }
            if self.is_due(at, vars) {
                self.mark(at);
            }
            self.begin_buffer(at);
        }
        if !more || self.is_due(end, vars) {
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
    fn memory(&self, vars: &Vars) -> Option<u64> {
        let overhead = self.overhead?;
        let sent = self.starts.partition_point(|start| *start < vars.nxt);
        let cut = self.starts.get(sent) != Some(&vars.nxt) && vars.written > vars.nxt;
        let buffers = self.bursts.len() + self.starts.len() - sent + usize::from(cut);
        Some(vars.buffered() + overhead * buffers as u64)
    }

    /// Returns the most octets of the next piece of a write; `None` if memory is not counted.
    fn room(&self, vars: &Vars, notsent_low_water: u64) -> Option<u64> {
        let memory = self.memory(vars)?;
        let full = Self::full(vars);
        let filled = vars.written.since(self.tail.max(vars.nxt));
        let unsent = vars.written.since(vars.nxt);
        Some(match filled {
            1.. if filled < full => full - filled,
            _ if memory < vars.capacity && unsent < notsent_low_water => full,
            _ => 0,
        })
    }
}

impl Sender {
    /// Records that `octets` are about to be appended. `goes_on` says that the write that wrote the
    /// present end continues, and `more` announces further writes.
    #[inline]
    pub(super) fn note_push(&mut self, octets: u64, goes_on: bool, more: bool) {
        if let Some(pushes) = &mut self.pushes {
            pushes.appended(octets, goes_on, more, &self.vars);
        }
    }

    /// Returns the most octets of the next piece of a write, if the send buffer bounds memory.
    #[inline]
    pub(super) fn room_by_memory(&self) -> Option<u64> {
        let low_water = self.notsent_low_water;
        self.pushes.as_ref()?.room(&self.vars, low_water)
    }

    /// Returns the octets of memory that the send buffer takes, if it bounds memory.
    #[inline]
    pub(super) fn memory(&self) -> Option<u64> {
        self.pushes.as_ref()?.memory(&self.vars)
    }

    /// Returns the octets of the send buffer that a full segment takes: its memory on Linux 6.18 for
    /// x86-64 if memory is counted (`tcp_sndbuf_expand`: headers and `skb_shared_info`, rounded up
    /// to a power of two, and `sk_buff`).
    pub(super) fn cost_of_a_segment(&self) -> u64 {
        let mss = u64::from(self.vars.mss);
        let counted = self.pushes.as_ref().and_then(|pushes| pushes.overhead);
        match counted {
            Some(_) => (mss + 640).next_power_of_two() + 256,
            None => mss,
        }
    }

    /// Marks what is written, whatever was announced, because the writer gives up or sleeps.
    pub(crate) fn push_what_is_written(&mut self) {
        if let Some(pushes) = &mut self.pushes {
            pushes.mark(self.vars.written);
        }
    }

    /// Returns whether a data segment that ends at `end` carries PSH.
    #[inline]
    pub(super) fn pushes(&self, end: Offset) -> bool {
        match &self.pushes {
            None => end == self.vars.written,
            Some(pushes) => pushes.ends.binary_search(&end).is_ok(),
        }
    }

    /// Sets PSH on the last segment of each group that the kernel would hand to the device
    /// together, so that the peer's GRO need not wait (`__tcp_transmit_skb`).
    #[inline]
    pub(super) fn push_bursts(&mut self, left: &mut [Segment]) {
        if !left.is_empty() && self.pushes.is_some() {
            self.push_each_burst(left);
        }
    }

    fn push_each_burst(&mut self, left: &mut [Segment]) {
        let (most, mss) = (self.burst(), self.vars.mss);
        let Some(pushes) = &mut self.pushes else {
            return;
        };
        let mut begins = 0;
        for at in 0..left.len() {
            let joins = at > begins
                && at - begins < most
                && left[at].len > 0
                // A probe of the path's MTU leaves alone.
                && left[at - 1].len <= mss
                && left[at - 1].data().end == left[at].seq
                && !left[at - 1].flags.has(Flags::PSH)
                && pushes.bursts.binary_search(&left[at].seq).is_err();
            if !joins {
                pushes.push_burst(&mut left[begins..at]);
                begins = at;
            }
        }
        pushes.push_burst(&mut left[begins..]);
    }

    /// Returns how many segments the kernel hands over together: about a millisecond's worth at its
    /// pacing rate, at least two (`tcp_tso_autosize`).
    pub(super) fn burst(&self) -> usize {
        let least = self.pushes.as_ref().map_or(1, |pushes| pushes.least_burst);
        let Some(rate) = self.pacing_rate() else {
            return least as usize;
        };
        let octets = (rate >> 10).min(MOST);
        // At least two must be in flight (`tcp_cwnd_test`).
        let mss = u64::from(self.vars.mss);
        let half = (self.vars.cwnd / mss / 2).max(1);
        (octets / mss).max(least).min(half) as usize
    }

    /// Removes the marks of what was acknowledged.
    pub(super) fn forget_pushes(&mut self) {
        if let Some(pushes) = &mut self.pushes {
            while pushes.ends.front().is_some_and(|end| *end <= self.vars.una) {
                pushes.ends.pop_front();
            }
            while pushes
                .bursts
                .front()
                .is_some_and(|end| *end <= self.vars.una)
            {
                pushes.bursts.pop_front();
            }
            while pushes
                .starts
                .front()
                .is_some_and(|start| *start < self.vars.una)
            {
                pushes.starts.pop_front();
            }
        }
    }
}
