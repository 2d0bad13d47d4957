//! The send buffer: how much is in it, how much a write may add, and how it grows.

use super::Sender;

impl Sender {
    /// Returns the octets in the send buffer, without the FIN.
    #[must_use]
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.vars.buffered()
    }

    /// Returns the size of the send buffer, in octets.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.vars.capacity
    }

    /// Returns the free space in the send buffer, in octets. If the buffer bounds memory
    /// (`Extensions::send_buffer_is_memory`), this is the size of the next piece of a write, which
    /// may exceed the buffer's size.
    #[must_use]
    #[inline]
    pub fn space(&self) -> u64 {
        match self.room_by_memory() {
            None if self.unsent() >= self.notsent_low_water => 0,
            None => self.vars.capacity.saturating_sub(self.buffered()),
            Some(room) => room,
        }
    }

    /// Returns the octets that were written and have not left.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        self.vars.written.since(self.vars.nxt)
    }

    /// Returns the fill and the size of the send buffer as a copy rule sees them; their difference
    /// is the size of the next piece of a write.
    #[inline]
    pub(crate) fn fill(&self) -> (u64, u64) {
        match self.room_by_memory() {
            None if self.unsent() >= self.notsent_low_water => (0, 0),
            None => (self.buffered(), self.vars.capacity),
            Some(room) => (0, room),
        }
    }

    /// Returns the free space for a writer that sleeps until there is enough; free memory if memory
    /// is bounded.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        // Linux: half of it must have left (`__tcp_stream_memory_free`).
        if self.unsent() >= self.notsent_low_water.div_ceil(2) {
            return 0;
        }
        let taken = self.memory().unwrap_or_else(|| self.buffered());
        self.vars.capacity.saturating_sub(taken)
    }

    /// Returns the most octets that a write may append before anything else happens. If memory is
    /// bounded, a kernel buffer that was begun is filled up, also after a part of it has left.
    #[must_use]
    pub fn most_of_a_write(&self) -> u64 {
        match self.room_by_memory() {
            Some(room @ 1..) => self.free() + room + self.vars.cwnd,
            _ => self.space(),
        }
    }

    /// Appends `octets` of the application's to the buffer. `goes_on` says that the write that
    /// wrote the present end of the buffer continues, and `more` announces further writes.
    #[inline]
    pub(crate) fn append(&mut self, octets: u64, goes_on: bool, more: bool) {
        self.note_push(octets, goes_on, more);
        self.vars.written += octets;
    }

    /// Sets the size of the send buffer, in octets, which then no longer grows by itself.
    pub(crate) fn set_capacity(&mut self, octets: u64) {
        self.vars.capacity = match &mut self.unlimited_buffer {
            None => octets,
            Some(unlimited) => {
                *unlimited = (octets, 0);
                self.vars.capacity.min(octets)
            }
        };
        self.buffer_most = 0;
    }

    /// Bounds the buffer to `octets` until [`Sender::unlimit_buffer`]. What is in it stays.
    pub(crate) fn limit_buffer(&mut self, octets: u64) {
        let now = (self.vars.capacity, self.buffer_most);
        let (capacity, _) = *self.unlimited_buffer.get_or_insert(now);
        self.vars.capacity = capacity.min(octets);
        self.buffer_most = 0;
    }

    /// Ends the bound.
    pub(crate) fn unlimit_buffer(&mut self) {
        if let Some(unlimited) = self.unlimited_buffer.take() {
            (self.vars.capacity, self.buffer_most) = unlimited;
        }
    }

    /// Lets the send buffer grow to two congestion windows, unless the window is full: then more
    /// octets would only wait (Linux: `tcp_should_expand_sndbuf`).
    #[inline]
    pub(crate) fn grow_buffer(&mut self) {
        if self.vars.capacity < self.buffer_most {
            self.grow_buffer_to_the_window();
        }
    }

    #[cold]
    fn grow_buffer_to_the_window(&mut self) {
        let window = self.vars.cwnd.max(self.initial_cwnd);
        if self.vars.outstanding() >= window {
            return;
        }
        let segments = window.div_ceil(u64::from(self.vars.mss.max(1)));
        let wanted = 2 * segments * self.cost_of_a_segment();
        let wanted = wanted.min(self.buffer_most);
        self.vars.capacity = self.vars.capacity.max(wanted);
    }

    /// Sets TCP_NOTSENT_LOWAT, in octets.
    pub(crate) fn set_notsent_low_water(&mut self, octets: Option<u64>) {
        self.notsent_low_water = octets.unwrap_or(u64::MAX);
    }

    /// Returns whether departures, and not only acknowledgments, may wake a writer.
    #[inline]
    pub(crate) fn departures_wake(&self) -> bool {
        self.notsent_low_water != u64::MAX
    }
}
