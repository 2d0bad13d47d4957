//! Go's own monitor as a tripwire, so that the watchdog need not be woken for each request.
//!
//! While any goroutine runs, a thread of Go's runtime (`sysmon`) comes by every 20 us at first, later up to every 10 ms; once
//! nothing runs it waits on a futex, and the next system call of a goroutine wakes it. It does so in any case. So what is
//! held while it comes by often needs no watchdog yet: if it finds something that is held for longer than a program
//! takes that flushes by itself, or if it is about to sleep for longer, it wakes the watchdog.
//!
//! A mark is set before [`is_about`] is asked, and what the monitor says of itself is written before it looks at the
//! marks, each by instructions in one order for all. So one of the two sees the other.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::kernel::now_ns;
use crate::layout::{HELD, Monitor, Shared};
use crate::watchdog;

/// Returns whether the monitor will come by soon.
pub(crate) fn is_about(shared: &Shared) -> bool {
    let monitor = &shared.monitor;
    let until_ns = monitor.until_ns.load(SeqCst);
    if until_ns & ABSENT != 0 || monitor.doubt.load(Relaxed) != 0 {
        return false;
    }
    let now_ns = now_ns(shared);
    now_ns < until_ns && watchdog::looked_lately(shared, now_ns)
}

/// Hears that a thread is about to sleep for so many microseconds. Only the monitor ever sleeps for 20.
pub(crate) fn sleeps(task: u64, us: u32, shared: &Shared) {
    let monitor = &shared.monitor;
    if monitor.task.load(Relaxed) != task {
        if us != FIRST_SLEEP_US {
            return;
        }
        monitor.task.store(task, Relaxed);
        monitor.word.store(0, Relaxed);
        monitor.due_ns.store(0, Relaxed);
    }
    let now_ns = now_ns(shared);
    let due_ns = monitor.due_ns.load(Relaxed);
    let doubt = if due_ns != 0 && now_ns > due_ns + LATE_NS {
        DOUBT
    } else {
        monitor.doubt.load(Relaxed).saturating_sub(1)
    };
    monitor.doubt.store(doubt, Relaxed);
    let is_soon = us <= LONGEST_SLEEP_US;
    let due_ns = now_ns + u64::from(us) * 1_000;
    monitor.due_ns.store(due_ns, Relaxed);
    if is_soon {
        monitor.until_ns.store(due_ns + SOON_NS, SeqCst);
    } else {
        leaves(monitor, 0);
    }
    let long_ns = if is_soon { LONG_NS } else { 0 };
    alert_if_held_for(shared, long_ns, now_ns);
}

/// Hears that a thread is about to wait on a futex.
pub(crate) fn waits(task: u64, word: u64, shared: &Shared) {
    let monitor = &shared.monitor;
    if monitor.task.load(Relaxed) != task {
        return;
    }
    monitor.due_ns.store(0, Relaxed);
    leaves(monitor, word);
    alert_if_held_for(shared, 0, now_ns(shared));
}

/// Hears that a thread wakes those that wait on a futex.
pub(crate) fn wakes(word: u64, shared: &Shared) {
    let monitor = &shared.monitor;
    let absence = monitor.until_ns.load(SeqCst);
    if absence & ABSENT != 0 && monitor.word.load(SeqCst) == word {
        let now_ns = now_ns(shared);
        let until_ns = now_ns + SOON_NS;
        // Unless it has woken by itself meanwhile, and perhaps sleeps again for longer.
        let comes = &monitor.until_ns;
        if { comes.compare_exchange(absence, until_ns, SeqCst, SeqCst) }.is_ok() {
            monitor.due_ns.store(now_ns, Relaxed);
        }
    }
}

/// Notes that nobody knows when the monitor comes by again: it waits on a futex, or (0) sleeps.
fn leaves(monitor: &Monitor, word: u64) {
    let absences = monitor.absences.load(Relaxed).wrapping_add(1);
    monitor.absences.store(absences, Relaxed);
    monitor.word.store(word, SeqCst);
    monitor.until_ns.store(ABSENT | absences, SeqCst);
}

/// [`Monitor::until_ns`]: nobody knows.
const ABSENT: u64 = 1 << 63;

/// Wakes the watchdog if it sleeps and something has been held for this long.
fn alert_if_held_for(shared: &Shared, long_ns: u64, now_ns: u64) {
    if watchdog::is_awake(shared) {
        return;
    }
    let words = shared.highest.load(SeqCst) as usize / 64 + 1;
    for (word, bits) in shared.marked.iter().enumerate().take(words) {
        let mut bits = bits.load(SeqCst);
        while bits != 0 {
            let fd = word * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let Some(socket) = shared.sockets.get(fd) else {
                return;
            };
            let is_held = socket.mark.load(SeqCst) & HELD != 0;
            if is_held && now_ns.saturating_sub(socket.since_ns.load(Relaxed)) >= long_ns {
                watchdog::wake(shared);
                return;
            }
        }
    }
}

/// How long the monitor sleeps first, and again after it had something to do (`sysmon` in Go's proc.go).
const FIRST_SLEEP_US: u32 = 20;
/// A sleep after which it still comes by soon.
const LONGEST_SLEEP_US: u32 = 100;
/// How long after its sleep's end, or after it was woken, it is waited for: then the watchdog has half of the bound.
const SOON_NS: u64 = 300_000;
/// It comes by within some 100 us where there is a processor for it.
const LATE_NS: u64 = 500_000;
/// How often it must come by in time, once it was late, until it is relied on: in two or three requests.
const DOUBT: u32 = 10;
/// A program that flushes by itself mostly does so sooner.
const LONG_NS: u64 = 200_000;
