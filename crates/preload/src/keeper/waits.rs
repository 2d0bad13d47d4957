//! The program's waits and reads: try, report, or flush first.

use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, ssize_t};

use super::marks::flush_thread;
use crate::orders::orders;
use crate::page::Cause;
use crate::table::{self, Identity, Kind};
use crate::thread::{self, Thread};
use crate::{clock, errno, measure, observe, sockets, watchdog};
use tinygram_coalesce::{AfterRead, BeforeRead, BeforeWait, Found, Held, Policy, Read, Wait};

/// Is called before a call that may wait. Returns true if the caller must first ask with timeout 0,
/// and call [`found_no_event`] if nothing is ready.
#[inline(always)]
pub(crate) fn peeks_before(wait: Wait) -> bool {
    watchdog::start_if_wanted();
    let thread = thread::this();
    let peeks = if thread.is_clean() {
        if wait != Wait::Never {
            thread.end_interval();
        }
        false
    } else {
        peeks_while_dirty(thread, wait)
    };
    peeks || observe::peeks_before(wait)
}

#[cold]
fn peeks_while_dirty(thread: &Thread, wait: Wait) -> bool {
    let Some(orders) = orders() else { return false };
    match tinygram_coalesce::before_wait(&orders.rules(), thread.held(clock::now_ns), wait) {
        BeforeWait::Go => false,
        BeforeWait::Peek if wait == Wait::Never => true,
        BeforeWait::Peek if orders.policy() != Policy::Observe => {
            // A round of the event loop has passed. What is held stays in its interval (the socket
            // is dirty); but a socket whose writes pass must not count the next round's answer as a
            // second write.
            thread.end_interval();
            true
        }
        BeforeWait::Peek | BeforeWait::Flush => {
            flush_thread(Cause::Wait);
            false
        }
    }
}

/// Is called after a call that reported no event without waiting for one. A program that sleeps
/// would have slept here, so what it held leaves, and its next write is a new message.
#[inline(always)]
pub(crate) fn found_no_event() {
    observe::found_no_event();
    let thread = thread::this();
    if thread.is_clean() {
        thread.end_interval();
    } else {
        flush_thread(Cause::Wait);
    }
}

/// Is called before a call that sleeps.
#[inline(always)]
pub(crate) fn before_sleep() {
    peeks_before(Wait::Blind);
}

/// What to do around a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// Read as asked.
    Go,
    /// Read as asked, then call [`found`].
    Report,
    /// Read with `MSG_DONTWAIT`, then call [`found`]; if nothing was there, read as asked.
    Try,
}

/// Returns whether a read is irrelevant: not of TCP, by a thread that holds nothing.
#[inline(always)]
pub(crate) fn cares_not(fd: c_int) -> bool {
    table::identity(fd).kind() != Kind::Tcp && thread::this().is_clean() && !watchdog::is_wanted()
}

/// Answers the question before every other read. `flags` are those of `recv`, 0 for `read`.
#[inline(always)]
pub(crate) fn incoming(fd: c_int, flags: c_int) -> Incoming {
    let thread = thread::this();
    if !thread.is_clean() {
        return incoming_while_dirty(fd, flags);
    }
    watchdog::start_if_wanted();
    let identity = table::identity(fd);
    if identity.kind() != Kind::Tcp {
        return Incoming::Go;
    }
    if identity.has(Identity::NONBLOCKING) {
        return Incoming::Report;
    }
    thread.end_interval();
    if observe::is_on() {
        observe::before_read(fd);
        return Incoming::Report;
    }
    if measure::is_measured(identity) {
        return Incoming::Report;
    }
    Incoming::Go
}

#[cold]
fn incoming_while_dirty(fd: c_int, flags: c_int) -> Incoming {
    let mut identity = table::identity(fd);
    if identity.kind() == Kind::Unknown && table::has_room_for(fd) {
        identity = errno::kept(|| sockets::classify(fd));
    }
    match identity.kind() {
        Kind::File => Incoming::Go,
        Kind::Tcp => incoming_tcp(fd, identity, flags),
        Kind::Waits | Kind::Unknown => {
            if errno::kept(|| sockets::would_wait(fd)) {
                flush_thread(Cause::Wait);
            }
            Incoming::Go
        }
    }
}

fn incoming_tcp(fd: c_int, identity: Identity, flags: c_int) -> Incoming {
    let Some(orders) = orders() else {
        return Incoming::Go;
    };
    let nonblocking = flags & libc::MSG_DONTWAIT != 0
        || identity.masked(Identity::NONBLOCKING | Identity::ALIASED) == Identity::NONBLOCKING;
    let all_or_nothing = flags & libc::MSG_WAITALL != 0 || identity.has(Identity::ALL_OR_NOTHING);
    let read = Read {
        nonblocking,
        all_or_nothing,
    };
    match tinygram_coalesce::before_read(&orders.rules(), read) {
        BeforeRead::Go => Incoming::Report,
        BeforeRead::Try if orders.policy() != Policy::Observe => Incoming::Try,
        BeforeRead::Try | BeforeRead::Flush => {
            flush_thread(Cause::Read);
            if !observe::is_on() {
                return Incoming::Go;
            }
            observe::before_read(fd);
            Incoming::Report
        }
    }
}

/// Is called after a read of `fd` that did not wait.
#[inline(always)]
pub(crate) fn found(fd: c_int, result: ssize_t) {
    if result >= 0 {
        observe::found(fd, result == 0);
    }
    measure::asked(fd, result);
    let thread = thread::this();
    if thread.is_clean() {
        // Either this was a wait, in a program that does not block; or the read found an answer,
        // which may be there before a fast program has waited at all. The next write is a new
        // message.
        thread.end_interval();
    } else if result < 0 && errno::get() == libc::EAGAIN {
        consider(thread, Found::Nothing);
    } else {
        begin_answer(fd);
        consider(thread, Found::Something);
    }
}

/// Records that a request was read: the next write on `fd` is a new message, unless some of the
/// last one is still held. The thread's own interval continues while it holds other sockets' bytes.
#[cold]
fn begin_answer(fd: c_int) {
    if let Some(holding) = table::holding(fd).filter(|one| one.held_since() == 0) {
        holding.interval.store(0, Relaxed);
    }
}

#[cold]
fn consider(thread: &Thread, found: Found) {
    let age_ns = || match thread.held(clock::now_ns) {
        Held::For { age_ns } => age_ns,
        Held::Nothing => 0,
    };
    if tinygram_coalesce::after_read(found, age_ns) == AfterRead::Flush {
        flush_thread(Cause::Read);
    }
}
