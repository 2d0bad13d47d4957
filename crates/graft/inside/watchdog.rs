//! The watchdog, which lives in the command: whether it can bound a hold, and how it is woken.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use tinygram_coalesce::{Memory, Pace, Rules, Write};

use crate::kernel;
use crate::layout::{ASLEEP, AWAKE, Inert, Shared};
use crate::monitor;

/// Returns whether a write may be held: the watchdog is awake, or worth waking.
#[inline(always)]
pub(crate) fn may_hold(shared: &Shared, rules: &Rules, memory: &Memory, write: Write) -> bool {
    if is_awake(shared) {
        return is_there(shared);
    }
    monitor::is_about(shared) || memory.is_worth_waking(rules, write, || pays(shared))
}

/// Returns whether the watchdog looks at every mark in time.
pub(crate) fn is_awake(shared: &Shared) -> bool {
    shared.watchdog.load(SeqCst) == AWAKE
}

/// Wakes the watchdog if it sleeps and nobody else would. The socket was marked before, by a locked instruction.
#[inline(always)]
pub(crate) fn alert(shared: &Shared) {
    if !is_awake(shared) && !monitor::is_about(shared) {
        wake(shared);
    }
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
fn is_there(shared: &Shared) -> bool {
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

#[cold]
fn pays(shared: &Shared) -> bool {
    let get = |count: &AtomicU64| count.load(Relaxed);
    let [began, asked, settled, credit] = &shared.pace;
    // Threads may lose each other's counts; then a further write is needed.
    let mut pace = Pace {
        began_ns: get(began),
        asked: get(asked),
        settled: get(settled),
        credit: get(credit),
    };
    let worth = pace.is_worth_waking(kernel::now_ns(shared), get(&shared.counts.merged));
    began.store(pace.began_ns, Relaxed);
    asked.store(pace.asked, Relaxed);
    settled.store(pace.settled, Relaxed);
    credit.store(pace.credit, Relaxed);
    worth
}

/// A watchdog that has not looked for this long while it was awake is gone, or has no processor: on a
/// machine at a load of 17 on two processors waits of 20 ms were seen.
const GONE_NS: u64 = 2_000_000_000;
