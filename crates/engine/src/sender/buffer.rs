//! The send buffer: how much it holds, how much a write may add, how it grows, and where PSH is set.

mod push;

use alloc::boxed::Box;

use super::config::SenderConfig;
use super::sequence::Sequence;
use crate::extensions::Extensions;
use crate::offset::Offset;
use crate::segment::Segment;
use push::{Bounds, Pushes};

pub(crate) use push::PieceOfWrite;

/// The bounds of the send buffer, in octets.
#[derive(Clone, Debug)]
pub(super) struct SendBuffer {
    /// Its size.
    capacity: u64,
    /// The size to which it may grow; 0 if it does not grow.
    most: u64,
    /// `capacity` and `most` as they are without a bound, while there is one.
    unlimited: Option<(u64, u64)>,
    /// A writer waits while this much is unsent, whatever space is free.
    notsent_low_water: u64,
    /// Where PSH is set, if not where the buffer is emptied.
    pushes: Option<Box<Pushes>>,
}

impl SendBuffer {
    pub(super) fn new(config: &SenderConfig, extensions: &Extensions) -> Self {
        Self {
            capacity: config.buffer,
            most: extensions.send_buffer_most.unwrap_or(0),
            unlimited: None,
            notsent_low_water: u64::MAX,
            pushes: extensions.linux.push_ends_writes.map(Pushes::new),
        }
    }

    /// Returns its size.
    #[inline]
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the fill and the size as a copy rule sees them; their difference is the size of the
    /// next piece of a write, in segments of `mss` octets.
    #[inline]
    pub(super) fn fill(&self, seq: &Sequence, mss: u32) -> (u64, u64) {
        match self.room_by_memory(seq, mss) {
            None if seq.unsent() >= self.notsent_low_water => (0, 0),
            None => (seq.buffered(), self.capacity),
            Some(room) => (0, room),
        }
    }

    /// Returns the free space; if memory is bounded, the size of the next piece of a write.
    #[inline]
    pub(super) fn space(&self, seq: &Sequence, mss: u32) -> u64 {
        let (fill, size) = self.fill(seq, mss);
        size.saturating_sub(fill)
    }

    /// Returns the free space for a writer that sleeps until there is enough; free memory if memory
    /// is bounded.
    #[inline]
    pub(super) fn free(&self, seq: &Sequence) -> u64 {
        // Linux: half of it must have left (`__tcp_stream_memory_free`).
        if seq.unsent() >= self.notsent_low_water.div_ceil(2) {
            return 0;
        }
        let memory = self.pushes.as_ref().and_then(|pushes| pushes.memory(seq));
        let taken = memory.unwrap_or_else(|| seq.buffered());
        self.capacity.saturating_sub(taken)
    }

    /// Returns the most octets that a write may append before anything else happens, while `cwnd`
    /// octets may be in flight. If memory is bounded, a kernel buffer that was begun is filled up,
    /// also after a part of it has left.
    pub(super) fn most_of_a_write(&self, seq: &Sequence, mss: u32, cwnd: u64) -> u64 {
        match self.room_by_memory(seq, mss) {
            Some(room @ 1..) => self.free(seq) + room + cwnd,
            _ => self.space(seq, mss),
        }
    }

    /// Returns the most octets of the next piece of a write, if the buffer bounds memory.
    #[inline]
    fn room_by_memory(&self, seq: &Sequence, mss: u32) -> Option<u64> {
        let pushes = self.pushes.as_ref()?;
        let bounds = Bounds {
            memory: self.capacity,
            unsent: self.notsent_low_water,
        };
        pushes.room(seq, mss, &bounds)
    }

    /// Records that a piece is about to be appended.
    #[inline]
    pub(super) fn appended(&mut self, piece: &PieceOfWrite, seq: &Sequence, mss: u32) {
        if let Some(pushes) = &mut self.pushes {
            pushes.appended(piece, seq, mss);
        }
    }

    /// Sets the size, which then no longer grows by itself.
    pub(super) fn set_capacity(&mut self, octets: u64) {
        self.capacity = match &mut self.unlimited {
            None => octets,
            Some(unlimited) => {
                *unlimited = (octets, 0);
                self.capacity.min(octets)
            }
        };
        self.most = 0;
    }

    /// Bounds the size to `octets` until [`SendBuffer::unlimit`]. What is in the buffer stays.
    pub(super) fn limit(&mut self, octets: u64) {
        let now = (self.capacity, self.most);
        let (capacity, _) = *self.unlimited.get_or_insert(now);
        self.capacity = capacity.min(octets);
        self.most = 0;
    }

    /// Ends the bound.
    pub(super) fn unlimit(&mut self) {
        if let Some(unlimited) = self.unlimited.take() {
            (self.capacity, self.most) = unlimited;
        }
    }

    /// Returns whether it may still grow by itself.
    #[inline]
    pub(super) fn may_grow(&self) -> bool {
        self.capacity < self.most
    }

    /// Lets it grow to two congestion windows of `window` octets, unless the window is full: then
    /// more octets would only wait (Linux: `tcp_should_expand_sndbuf`).
    #[cold]
    pub(super) fn grow_to(&mut self, window: u64, seq: &Sequence, mss: u32) {
        if seq.outstanding() >= window {
            return;
        }
        let segments = window.div_ceil(u64::from(mss.max(1)));
        let wanted = 2 * segments * self.cost_of_a_segment(mss);
        self.capacity = self.capacity.max(wanted.min(self.most));
    }

    /// Returns the octets that a full segment takes: its memory on Linux 6.18 for x86-64 if memory
    /// is counted (`tcp_sndbuf_expand`: headers and `skb_shared_info`, rounded up to a power of two,
    /// and `sk_buff`).
    fn cost_of_a_segment(&self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match &self.pushes {
            Some(pushes) if pushes.counts_memory() => (mss + 640).next_power_of_two() + 256,
            _ => mss,
        }
    }

    /// Sets TCP_NOTSENT_LOWAT.
    pub(super) fn set_notsent_low_water(&mut self, octets: Option<u64>) {
        self.notsent_low_water = octets.unwrap_or(u64::MAX);
    }

    /// Returns whether departures, and not only acknowledgments, may wake a writer.
    #[inline]
    pub(super) fn departures_wake(&self) -> bool {
        self.notsent_low_water != u64::MAX
    }

    /// Returns whether PSH is set where writes end, instead of where the buffer is emptied.
    #[inline]
    pub(super) fn push_ends_writes(&self) -> bool {
        self.pushes.is_some()
    }

    /// Returns the least number of segments that are handed to the device together.
    pub(super) fn least_burst(&self) -> u64 {
        self.pushes
            .as_ref()
            .map_or(1, |pushes| pushes.least_burst())
    }

    /// Marks what is written, whatever was announced, because the writer gives up or sleeps.
    pub(super) fn push_what_is_written(&mut self, seq: &Sequence) {
        if let Some(pushes) = &mut self.pushes {
            pushes.mark(seq.written);
        }
    }

    /// Returns whether a data segment that ends at `end` carries PSH.
    #[inline]
    pub(super) fn pushes(&self, end: Offset, seq: &Sequence) -> bool {
        match &self.pushes {
            None => end == seq.written,
            Some(pushes) => pushes.is_marked(end),
        }
    }

    /// Sets PSH on the last segment of each group of at most `most` that leave together.
    pub(super) fn push_bursts(&mut self, left: &mut [Segment], most: usize, mss: u32) {
        if let Some(pushes) = &mut self.pushes {
            pushes.push_bursts(left, most, mss);
        }
    }

    /// Removes the marks of what was acknowledged.
    #[inline]
    pub(super) fn forget_pushes(&mut self, seq: &Sequence) {
        if let Some(pushes) = &mut self.pushes {
            pushes.forget(seq.una);
        }
    }
}
