//! A local device that accepts nothing. Segments handed to it would be lost, so nothing leaves, and
//! the sender tries again at intervals (Linux: `TCP_RESOURCE_PROBE_INTERVAL`).

use super::Sender;
use crate::time::{Duration, Instant};

/// The time between two tries.
pub(super) const RETRY: Duration = Duration::from_millis(500);

impl Sender {
    /// Sets whether the device refuses packets.
    pub(crate) fn set_device_full(&mut self, full: bool) {
        self.device_full = full;
    }

    /// Handles the expiry of the persist timer while the device still refuses packets. That tells
    /// nothing about the peer, so the time until the next try does not grow.
    pub(super) fn try_the_device_later(&mut self, now: Instant) {
        self.timers.resource_probe(now, RETRY);
    }
}
