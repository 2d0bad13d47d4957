//! What bounds a hold: the watchdog, or Go's monitor as long as it comes by.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tinygram_coalesce::{Memory, Pace, Rules, Write};

use crate::layout::Shared;
use crate::watchdog::{is_awake, is_there, wake};
use crate::{kernel, monitor};

/// Returns whether a write may be held: the watchdog is awake, or worth waking. `joins` says that octets are held already,
/// before which this was asked: while it is awake, the clock need not be read again for what joins them.
#[inline(always)]
pub(crate) fn may_hold(
    shared: &Shared,
    rules: &Rules,
    memory: &Memory,
    write: Write,
    joins: bool,
) -> bool {
    if is_awake(shared) {
        return joins || is_there(shared);
    }
    monitor::is_about(shared) || memory.is_worth_waking(rules, write, || pays(shared))
}

/// Wakes the watchdog if it sleeps and nobody else would. The socket was marked before, by a locked instruction.
#[inline(always)]
pub(crate) fn alert(shared: &Shared) {
    if !is_awake(shared) && !monitor::is_about(shared) {
        wake(shared);
    }
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
