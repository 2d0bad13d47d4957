//! The watchdog, which lives in the command: whether it is awake, and how it is woken.

use core::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use crate::kernel;
use crate::layout::{ASLEEP, AWAKE, Inert, Shared};

/// Returns whether the watchdog looks at every mark in time.
pub(crate) fn is_awake(shared: &Shared) -> bool {
    shared.watchdog.load(SeqCst) == AWAKE
}

/// Wakes the watchdog.
#[inline(never)]
pub(crate) fn wake(shared: &Shared) {
    // Before it looks for the first time it counts as there, also for a thread that sees it awake at once.
    shared.looked_ns.store(kernel::now_ns(shared), Relaxed);
    let woken = shared
        .watchdog
        .compare_exchange(ASLEEP, AWAKE, SeqCst, SeqCst)
        .is_ok();
    if woken {
        kernel::wake(&shared.watchdog);
    }
}

/// Returns whether the watchdog has looked lately; without it nothing is held for good.
pub(crate) fn is_there(shared: &Shared) -> bool {
    if looked_lately(shared, kernel::now_ns(shared)) {
        return true;
    }
    // The caller sends what is held.
    shared.inert.store(Inert::Alone as u32, Relaxed);
    false
}

/// Returns whether the watchdog has looked lately, which it does twice in a second while it sleeps.
pub(crate) fn looked_lately(shared: &Shared, now_ns: u64) -> bool {
    now_ns.saturating_sub(shared.looked_ns.load(Relaxed)) < GONE_NS
}

/// A watchdog that has not looked for this long while it was awake is gone, or has no processor: on a
/// machine at a load of 17 on two processors waits of 20 ms were seen.
const GONE_NS: u64 = 2_000_000_000;
