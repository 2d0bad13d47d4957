//! Counts that all threads share.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Adds to a count. Not a locked instruction: a count that a thread loses matters less than its cost.
pub(crate) fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
}
