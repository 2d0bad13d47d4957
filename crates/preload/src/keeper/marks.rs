//! Marks what is held, and sends it.

use std::sync::atomic::Ordering::Relaxed;

use libc::c_int;

use crate::holding::Holding;
use crate::live::{self, LIVE};
use crate::orders::orders;
use crate::page::Cause;
use crate::thread::{self, Thread};
use crate::{clock, errno, flush, table, watchdog};

/// Records that bytes are about to be held on `fd`.
#[inline(always)]
pub(super) fn mark(fd: c_int, holding: &Holding, thread: &Thread) {
    live::count(&LIVE.held);
    let owner = thread.number();
    let since_ns = holding.held_since();
    let is_listed = since_ns != 0 && holding.owner.load(Relaxed) == owner;
    if is_listed && holding.remark(since_ns) {
        return;
    }
    let now_ns = clock::now_ns();
    // A locked instruction, which `table::watch` and `watchdog::alert` require.
    holding.mark(now_ns);
    holding.owner.store(owner, Relaxed);
    if !thread.remember(fd, now_ns) {
        flush_thread(Cause::Overflow);
        holding.mark(now_ns);
        thread.remember(fd, now_ns);
    }
    table::watch(fd);
    watchdog::alert(now_ns);
}

/// Sends what is held on `fd`, if anything is.
#[inline(always)]
pub(crate) fn flush(fd: c_int, cause: Cause) {
    if let (Some(orders), Some(holding)) = (orders(), table::holding(fd))
        // A `vfork`ed child sees its parent's holdings, but its descriptors may lead elsewhere.
        && holding.mark_now() != 0
        && !thread::this().is_borrowed()
    {
        flush::through(fd, orders, holding, cause);
    }
}

/// Sends everything that the calling thread holds; keeps `errno`.
#[cold]
pub(crate) fn flush_thread(cause: Cause) {
    let thread = thread::this();
    thread.end_interval();
    errno::kept(|| thread.drain(|fd| flush(fd, cause)));
}

/// Sends everything that the process holds.
pub(crate) fn flush_process(cause: Cause) {
    flush_thread(cause);
    errno::kept(|| {
        table::sweep(|fd| {
            flush(fd, cause);
            true
        })
    });
}
