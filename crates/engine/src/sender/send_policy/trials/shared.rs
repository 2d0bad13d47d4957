//! What the connections of a host find together.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::found::{Found, Known, Tried};

/// Where the connections of a host put together what they find, so that all of them do the same. Each
/// copy is the same place; a host has one of its own.
#[derive(Clone, Debug, Default)]
pub struct SharedTrials(Arc<Shared>);

/// Connections on several threads may add at once. Then what one of them found may be lost, which is of
/// no consequence: it is one of many.
#[derive(Debug)]
struct Shared {
    numbers: [AtomicU64; Known::NUMBERS],
    prefers_holding: AtomicBool,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            numbers: [const { AtomicU64::new(0) }; Known::NUMBERS],
            prefers_holding: AtomicBool::new(false),
        }
    }
}

impl SharedTrials {
    /// Returns whether holding left less waiting, on all connections together.
    pub(super) fn prefers_holding(&self) -> bool {
        self.0.prefers_holding.load(Ordering::Relaxed)
    }

    /// Adds what a connection found in a slot, and returns what is known now.
    pub(super) fn add(&self, slot: u64, tried: Tried, found: &Found) -> Known {
        let mut known = Known {
            prefers_holding: self.prefers_holding(),
            ..Known::default()
        };
        for (number, shared) in known.numbers().zip(&self.0.numbers) {
            *number = shared.load(Ordering::Relaxed);
        }
        known.add(slot, tried, found);
        for (number, shared) in known.numbers().zip(&self.0.numbers) {
            shared.store(*number, Ordering::Relaxed);
        }
        let prefers = known.prefers_holding;
        self.0.prefers_holding.store(prefers, Ordering::Relaxed);
        known
    }
}
