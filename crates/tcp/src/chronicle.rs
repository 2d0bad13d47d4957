//! What a socket records of its past: how much arrived, and what held its data back for how long.

use tinygram_engine::{Duration, Instant};

/// The records of a socket for [`Info`](super::Info).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chronicle {
    pub(super) largest_received: u32,
    pub(super) segments: u64,
    pub(super) data_segments: u64,
    pub(super) data_at: Instant,
    since: Instant,
    pub(super) held_by: Holder,
    pub(super) busy: Duration,
    pub(super) by_window: Duration,
    pub(super) by_buffer: Duration,
}

/// What holds back the data that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Holder {
    /// There is no such data.
    #[default]
    Nobody,
    /// The network, or the congestion window.
    Network,
    Window,
    Buffer,
}

impl Chronicle {
    /// Records that a segment with this many octets of data arrived.
    #[inline]
    pub(super) fn arrived(&mut self, now: Instant, len: u32) {
        self.segments += 1;
        if len > 0 {
            self.data_segments += 1;
            self.data_at = now;
            self.largest_received = self.largest_received.max(len);
        }
    }

    /// Returns the sums up to now.
    pub(super) fn up_to(mut self, now: Instant) -> Self {
        let passed = now.since(self.since);
        let add = |sum: &mut Duration| *sum += passed;
        match self.held_by {
            Holder::Nobody => {}
            Holder::Network => add(&mut self.busy),
            Holder::Window => {
                add(&mut self.busy);
                add(&mut self.by_window);
            }
            Holder::Buffer => {
                add(&mut self.busy);
                add(&mut self.by_buffer);
            }
        }
        self.since = self.since.max(now);
        self
    }
}
