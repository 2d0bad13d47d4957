//! What comes in: a read that finds nothing is where the task waits.

use core::sync::atomic::Ordering::Relaxed;

use tinygram_coalesce::{AfterRead, Found, after_read};

use crate::entry::{Call, Next};
use crate::kernel::{self, EAGAIN, MSG_DONTWAIT, MSG_NOSIGNAL, nr};
use crate::layout::{Cause, class};
use crate::sockets::{self, socket};
use crate::thread::Caller;
use crate::{flush, waits};

/// A read on any descriptor.
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
fn nothing_held(caller: &Caller<'_>, fd: u64) {
    let kind = socket(caller.shared, fd).map(|socket| socket.class.load(Relaxed) & class::KIND);
    if !matches!(kind, Some(class::FILE | class::UNKNOWN)) {
        waits::has_waited(caller.shared, caller.task);
    }
}

/// A read in a program in C, which may block: what is held leaves before it waits.
#[inline(always)]
pub(crate) fn blocking(caller: &Caller<'_>, call: &mut Call) -> Next {
    let shared = caller.shared;
    if !flush::holds(caller) {
        nothing_held(caller, call.a1);
        return Next::Go;
    }
    let what = socket(shared, call.a1).map_or(class::WAITS, |socket| {
        sockets::known(caller, call.a1, socket) & class::KIND
    });
    if what == class::FILE {
        return Next::Go;
    }
    let flags = match call.word {
        nr::READ => 0,
        nr::RECVFROM => call.a4,
        _ => MSG_PEEK,
    };
    if what != class::TCP || flags & !(MSG_DONTWAIT | MSG_NOSIGNAL) != 0 {
        flush_all(caller);
        return Next::Go;
    }
    let [address, length] = if call.word == nr::READ {
        [0, 0]
    } else {
        [call.a5, call.a6]
    };
    let arguments = [
        call.a1,
        call.a2,
        call.a3,
        flags | MSG_DONTWAIT,
        address,
        length,
    ];
    // SAFETY: the program's own arguments, for what it asked for, but without waiting.
    let result = unsafe { kernel::call(nr::RECVFROM, arguments) };
    if kernel::failed(result) {
        // It waits, or fails as it would have.
        flush_all(caller);
        return Next::Go;
    }
    call.word = result;
    if after_read(Found::Something, || age_ns(caller)) == AfterRead::Flush {
        flush_all(caller);
    }
    Next::Made
}

/// Any flag with which a read is left to the program.
const MSG_PEEK: u64 = 2;

fn flush_all(caller: &Caller<'_>) {
    waits::has_waited(caller.shared, caller.task);
    flush::thread(caller.shared, caller.thread, Cause::Read);
}

/// Returns how long the thread's oldest octet has been held.
fn age_ns(caller: &Caller<'_>) -> u64 {
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
