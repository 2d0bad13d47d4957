//! The rules in force, and what came of a write by them.

use core::sync::atomic::Ordering::Relaxed;

use tinygram_coalesce::{Policy, Rules};

use crate::layout::Shared;

/// Returns the policy in force.
pub(crate) fn policy(shared: &Shared) -> Policy {
    const FLUSH_ON_BLOCK: u32 = Policy::FlushOnBlock as u32;
    const OBSERVE: u32 = Policy::Observe as u32;
    match shared.policy.load(Relaxed) {
        FLUSH_ON_BLOCK => Policy::FlushOnBlock,
        OBSERVE => Policy::Observe,
        _ => Policy::Nodelay,
    }
}

/// Returns the rules in force.
pub(crate) fn rules(shared: &Shared) -> Rules {
    Rules {
        policy: policy(shared),
        hold_below: shared.hold_below.load(Relaxed) as usize,
        watchdog_ns: shared.watchdog_ns.load(Relaxed),
        eager: shared.eager.load(Relaxed) != 0,
    }
}

/// What became of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Outcome {
    /// It goes out, with all that was held.
    Passes,
    /// It is held (under `observe`: would be).
    Held,
    /// It was to be held, but the watchdog rests.
    Unwatched,
}
