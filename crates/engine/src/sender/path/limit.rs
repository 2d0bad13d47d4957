//! Path MTU discovery: a router reported that a packet was too big (RFC 1191, RFC 8201).

use crate::time::Instant;

/// A limit that a router reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathLimit {
    until: Instant,
    /// The largest segment without it, in octets, options included.
    mss: u32,
}

impl PathLimit {
    pub(crate) fn new(until: Instant, mss: u32) -> Self {
        Self { until, mss }
    }

    /// Bounds what returns after the limit.
    pub(crate) fn bound(&mut self, mss: u32) {
        self.mss = self.mss.min(mss);
    }

    /// Returns the largest segment without it, in octets, options included.
    pub(crate) fn mss(&self) -> u32 {
        self.mss
    }

    /// Returns whether its time is over.
    #[inline]
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.until
    }
}
