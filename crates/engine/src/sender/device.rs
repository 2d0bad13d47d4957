//! A local device that takes nothing: what leaves is known to be lost at once, so nothing leaves, and
//! the sender tries again now and then (Linux: `TCP_RESOURCE_PROBE_INTERVAL`).

use super::Sender;
use crate::time::{Duration, Instant};

/// Between two tries.
pub(super) const RETRY: Duration = Duration::from_millis(500);

impl Sender {
    /// The device takes nothing, or does again.
    pub(crate) fn set_device_full(&mut self, full: bool) {
        self.device_full = full;
    }

    /// The persist timer expired and the device still takes nothing. Nothing is said of the peer by
    /// that, so the time until the next try does not grow.
    pub(super) fn try_the_device_later(&mut self, now: Instant) {
        self.timers.resource_probe(now, RETRY);
    }
}
