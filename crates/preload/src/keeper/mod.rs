//! Carries out the policy's decisions: marks, flushes, and keeps the books.
//!
//! The bytes themselves are never stored here. A held write is in the kernel's send queue from the
//! start, with `MSG_MORE`; the library stores only the knowledge that it is there. So whatever this
//! library does or fails to do cannot lose, repeat or reorder a byte: at worst a byte leaves later.

mod waits;
mod writes;

use std::sync::atomic::Ordering::Relaxed;

use libc::c_int;

pub(crate) use self::waits::{
    Incoming, before_sleep, cares_not, found, found_no_event, incoming, peeks_before,
};
#[cfg(test)]
pub(crate) use self::writes::begin_sending;
pub(crate) use self::writes::{
    Outgoing, Taken, at_thread_end, held, not_held, outgoing, passed, pushed, sent_alongside,
    taking, took_along,
};
use crate::holding::Holding;
use crate::live::{self, LIVE};
use crate::orders::{self, Orders, orders};
use crate::page::{Cause, Page};
use crate::settings::Settings;
use crate::table;
use crate::thread::{self, Thread};
use crate::traces::Traces;
use crate::{clock, errno, flush, measure, observe, watchdog};

/// Starts: from now on descriptors are tracked. Called once, before `main`.
pub(crate) fn begin(
    settings: &Settings<'_>,
    page: Option<&'static Page>,
    traces: Option<&'static Traces>,
) {
    let orders = Orders {
        only: settings.only,
        page,
        traces,
    };
    if orders::give(orders) {
        LIVE.begin(&settings.rules);
        observe::begin(settings.rules.policy, page.is_some());
        watchdog::reserve();
        thread::reserve(at_thread_end);
        table::reserve();
        measure::reserve();
    }
}

/// Stops for good: everything is sent, and from now on every call passes through.
///
/// Called for a process that is about to sandbox itself: its filter might kill it for the library's
/// own calls, and a watchdog outside the filter would be a hole in it.
pub(crate) fn become_inert() {
    flush_process(Cause::Process);
    watchdog::stop();
    table::close();
}

/// Records that bytes are about to be held on `fd`.
#[inline(always)]
fn mark(fd: c_int, holding: &Holding, thread: &Thread) {
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
