//! What comes in: a read that finds nothing is where the task waits.

use core::sync::atomic::Ordering::Relaxed;

use tinygram_coalesce::{AfterRead, Found, after_read};

use crate::call::{Call, Next};
use crate::kernel::{self, EAGAIN};
use crate::layout::{Cause, class};
use crate::table::socket;
use crate::thread::Caller;
use crate::{flush, sockets, waits};

/// Handles a read on any descriptor.
#[inline(always)]
pub(crate) fn incoming(caller: &Caller<'_>, call: &mut Call) -> Next {
    let shared = caller.shared;
    if !flush::holds(caller) {
        nothing_held(caller, call.a1);
        return Next::Go;
    }
    let Some(socket) = socket(shared, call.a1) else {
        flush_all(caller);
        return Next::Go;
    };
    let what = sockets::known(caller, call.a1, socket);
    if what & class::KIND == class::FILE {
        return Next::Go;
    }
    if what & class::NONBLOCKING == 0 {
        flush_all(caller);
        return Next::Go;
    }
    let result = call.make();
    call.word = result;
    let found = if result == EAGAIN {
        Found::Nothing
    } else {
        Found::Something
    };
    let age_ns = || age_ns(caller);
    if after_read(found, age_ns) == AfterRead::Flush {
        flush_all(caller);
    }
    Next::Made
}

/// Notes a read while nothing is held. Whether it finds anything is not worth asking: after it, a new message begins,
/// unless it is of a file, which an answer may be made of. What was never asked about is taken for one: a socket that
/// was never written to begins a message anyway, and at a read of anything else while something is held, the kernel is
/// asked.
#[inline(always)]
pub(crate) fn nothing_held(caller: &Caller<'_>, fd: u64) {
    let kind = socket(caller.shared, fd).map(|socket| socket.class.load(Relaxed) & class::KIND);
    if !matches!(kind, Some(class::FILE | class::UNKNOWN)) {
        waits::has_waited(caller.shared, caller.task);
    }
}

pub(crate) fn flush_all(caller: &Caller<'_>) {
    waits::has_waited(caller.shared, caller.task);
    flush::thread(caller.shared, caller.thread, Cause::Read);
}

/// Returns how long the thread's oldest octet has been held.
pub(crate) fn age_ns(caller: &Caller<'_>) -> u64 {
    let mut oldest_ns = u64::MAX;
    for place in &caller.thread.held {
        let entry = place.load(Relaxed);
        if entry != 0
            && let Some(socket) = socket(caller.shared, u64::from(entry) - 1)
        {
            oldest_ns = oldest_ns.min(socket.since_ns.load(Relaxed));
        }
    }
    kernel::now_ns(caller.shared).saturating_sub(oldest_ns)
}
