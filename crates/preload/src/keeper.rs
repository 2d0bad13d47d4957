//! Carries out what the policy decides: marks, flushes, and keeps the books.
//!
//! The bytes themselves are never kept here. A held write is in the kernel's send queue from the
//! start, with `MSG_MORE`; all that is kept is the knowledge that it is there. So nothing this
//! library does or fails to do can lose, repeat or reorder a byte: at worst one leaves later.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use libc::{c_int, ssize_t};

use crate::page::{Cause, Page};
use crate::policy::{
    AfterRead, BeforeRead, BeforeWait, Found, Held, Memory, Policy, Read, Rules, Wait, Write,
};
use crate::settings::{MAX_ONLY, Only, Settings};
use crate::table::{self, Holding, Identity, Kind};
use crate::thread::{self, Thread};
use crate::{errno, kernel, ledger, policy, sockets, watchdog};

/// What this process was told, for good.
pub(crate) struct Orders {
    pub(crate) rules: Rules,
    pub(crate) only: [Option<Only>; MAX_ONLY],
    pub(crate) page: Option<&'static Page>,
}

static ORDERS: OnceLock<Orders> = OnceLock::new();

/// Begins: from here on descriptors are known. Called once, before `main`.
pub(crate) fn begin(settings: &Settings<'_>, page: Option<&'static Page>) {
    let orders = Orders {
        rules: settings.rules,
        only: settings.only,
        page,
    };
    if ORDERS.set(orders).is_ok() {
        watchdog::reserve();
        table::reserve();
    }
}

/// What this process was told. Only asked about known descriptors, so never before [`begin`].
#[inline(always)]
pub(crate) fn orders() -> Option<&'static Orders> {
    ORDERS.get()
}

/// Ends for good: everything leaves, and from here on every call passes through.
///
/// For a process that is about to sandbox itself: our own calls might be what its filter kills for,
/// and a watchdog outside the filter would be a hole in it.
pub(crate) fn become_inert() {
    flush_process(Cause::Process);
    watchdog::stop();
    table::close();
}

/// What to do with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// Issue it as it is.
    Pass,
    /// Issue it with `MSG_MORE`, then call [`held`].
    Hold,
    /// Issue it as it is; it takes along what is held. Then call [`pushed`].
    Push,
}

/// The question before every write of `len` bytes.
#[inline(always)]
pub(crate) fn outgoing(fd: c_int, len: usize) -> Outgoing {
    let identity = table::identity(fd);
    match identity.kind() {
        Kind::Tcp => outgoing_tcp(fd, identity, len),
        Kind::Unknown if table::has_room_for(fd) => outgoing_unknown(fd, len),
        Kind::Unknown | Kind::Waits | Kind::File => Outgoing::Pass,
    }
}

#[cold]
fn outgoing_unknown(fd: c_int, len: usize) -> Outgoing {
    let identity = sockets::classify(fd);
    if identity.kind() == Kind::Tcp {
        outgoing_tcp(fd, identity, len)
    } else {
        Outgoing::Pass
    }
}

fn outgoing_tcp(fd: c_int, mut identity: Identity, len: usize) -> Outgoing {
    if !identity.has(Identity::BOOKED) {
        identity = sockets::book(fd, identity);
    }
    let (Some(orders), Some(holding)) = (orders(), table::holding(fd)) else {
        return Outgoing::Pass;
    };
    let Entry { hold, dirty } = enter(orders, identity, holding, Sent::Bytes(len));
    let thread = thread::this();
    match (hold, orders.rules.policy) {
        (true, Policy::Observe) => {
            mark(fd, holding, thread);
            Outgoing::Pass
        }
        (true, Policy::CorkUntilBlock) if watchdog::guards() => {
            if holding.since_ns.load(Relaxed) == 0 {
                kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
            }
            mark(fd, holding, thread);
            Outgoing::Pass
        }
        (true, _) if watchdog::guards() => {
            mark(fd, holding, thread);
            Outgoing::Hold
        }
        _ if dirty => Outgoing::Push,
        _ => Outgoing::Pass,
    }
}

/// What went out, for the predictor.
#[derive(Clone, Copy)]
enum Sent {
    /// A write of so many bytes, which may be held.
    Bytes(usize),
    /// Bytes that left by a call that cannot hold them.
    Unholdable(usize),
}

/// What is to be done about it.
struct Entry {
    hold: bool,
    /// Bytes were held before.
    dirty: bool,
}

/// Enters a write into the predictor's memory and into the books, and asks the policy.
fn enter(orders: &Orders, identity: Identity, holding: &Holding, sent: Sent) -> Entry {
    let (len, judged_len) = match sent {
        Sent::Bytes(len) => (len, len),
        Sent::Unholdable(len) => (len, usize::MAX),
    };
    let covered = Identity::BOOKED | Identity::ALONE | Identity::STREAM;
    if identity.masked(covered) != Identity::BOOKED {
        ledger::wrote(
            orders,
            identity,
            ledger::Wrote {
                len,
                held: false,
                joined: false,
            },
        );
        return Entry {
            hold: false,
            dirty: false,
        };
    }
    let interval = thread::this().interval();
    let dirty = holding.since_ns.load(Relaxed) != 0;
    let mut memory = Memory::unpack(holding.memory.load(Relaxed));
    // Bytes another thread left held make one interval with ours: one flush sends both.
    let same_interval = dirty || holding.interval.load(Relaxed) == interval;
    let write = Write {
        len: judged_len,
        same_interval,
    };
    let hold = len > 0 && memory.on_write(&orders.rules, write);
    holding.memory.store(memory.pack(), Relaxed);
    holding.interval.store(interval, Relaxed);
    ledger::wrote(
        orders,
        identity,
        ledger::Wrote {
            len,
            held: hold,
            joined: dirty,
        },
    );
    Entry { hold, dirty }
}

/// After bytes left by a call that cannot hold them (`sendfile`, a batch of messages): company for
/// the writes around them, and `whole` if they took along what was held.
pub(crate) fn sent_alongside(fd: c_int, sent: usize, whole: bool, cause: Cause) {
    let identity = table::identity(fd);
    if identity.kind() != Kind::Tcp || sent == 0 {
        return;
    }
    if let (Some(orders), Some(holding)) = (orders(), table::holding(fd)) {
        enter(orders, identity, holding, Sent::Unholdable(sent));
    }
    if whole {
        took_along(fd, cause);
    }
}

/// After a held write. The watchdog may have flushed the socket between the mark and the bytes'
/// arrival (a write can wait for room): then they need a mark of their own.
#[inline(always)]
pub(crate) fn held(fd: c_int) {
    if let Some(holding) = table::holding(fd)
        && holding.since_ns.load(SeqCst) == 0
    {
        mark(fd, holding, thread::this());
    }
}

/// After a write that took along what was held. Even a partial one has: the kernel pushes whatever
/// it queued before it returns.
pub(crate) fn pushed(fd: c_int, result: ssize_t) {
    if result > 0 {
        took_along(fd, Cause::LargeWrite);
    }
}

/// The held bytes of `fd` have left with something else.
pub(crate) fn took_along(fd: c_int, cause: Cause) {
    let Some(orders) = orders() else { return };
    if orders.rules.policy == Policy::CorkUntilBlock {
        return flush(fd, cause);
    }
    if let Some(holding) = table::holding(fd) {
        let since_ns = holding.since_ns.swap(0, SeqCst);
        if since_ns != 0 {
            ledger::flushed(orders, fd, since_ns, cause);
        }
    }
}

/// Records that `fd` is about to have bytes held.
fn mark(fd: c_int, holding: &Holding, thread: &Thread) {
    let owner = (thread.interval() >> 32) as u32;
    if holding.since_ns.load(Relaxed) != 0 && holding.owner.load(Relaxed) == owner {
        return;
    }
    let now_ns = kernel::now_ns();
    // A locked instruction, as `table::watch` and `watchdog::alert` ask for.
    let _ = holding
        .since_ns
        .compare_exchange(0, now_ns, SeqCst, Relaxed);
    holding.owner.store(owner, Relaxed);
    if !thread.remember(fd, now_ns) {
        flush_thread(Cause::Overflow);
        let _ = holding
            .since_ns
            .compare_exchange(0, now_ns, SeqCst, Relaxed);
        thread.remember(fd, now_ns);
    }
    table::watch(fd);
    watchdog::alert();
}

/// Sends what is held on `fd`, if anything is.
pub(crate) fn flush(fd: c_int, cause: Cause) {
    let (Some(orders), Some(holding)) = (orders(), table::holding(fd)) else {
        return;
    };
    // A `vfork`ed child sees its parent's holdings, but its descriptors may lead elsewhere.
    if holding.since_ns.load(Relaxed) == 0 || thread::this().is_borrowed() {
        return;
    }
    let since_ns = holding.since_ns.swap(0, SeqCst);
    if since_ns == 0 {
        return;
    }
    match orders.rules.policy {
        // Flushes whatever the socket was set to before, in one call; a zero-length send does not.
        Policy::FlushOnBlock => kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1),
        Policy::CorkUntilBlock => kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 0),
        Policy::Nodelay | Policy::Observe => true,
    };
    ledger::flushed(orders, fd, since_ns, cause);
}

/// Sends what was held too long on `fd`, and remembers that it had to be.
pub(crate) fn rescue(fd: c_int, holding: &Holding, contended: bool) {
    let mut memory = Memory::unpack(holding.memory.load(Relaxed));
    memory.on_rescue(contended);
    holding.memory.store(memory.pack(), Relaxed);
    flush(fd, Cause::Watchdog);
}

/// Sends everything the calling thread holds; `errno` is kept.
#[cold]
pub(crate) fn flush_thread(cause: Cause) {
    let thread = thread::this();
    thread.end_interval();
    errno::kept(|| thread.drain(|fd| flush(fd, cause)));
}

/// Sends everything the process holds.
pub(crate) fn flush_process(cause: Cause) {
    flush_thread(cause);
    errno::kept(|| table::sweep(|fd| flush(fd, cause)));
}

/// Before a call that may wait; true if the caller shall ask with timeout 0 first, and call
/// [`flush_thread`] if nothing is ready.
#[inline(always)]
pub(crate) fn peeks_before(wait: Wait) -> bool {
    watchdog::start_if_wanted();
    let thread = thread::this();
    if thread.is_clean() {
        if wait != Wait::Never {
            thread.end_interval();
        }
        return false;
    }
    peeks_while_dirty(thread, wait)
}

#[cold]
fn peeks_while_dirty(thread: &Thread, wait: Wait) -> bool {
    let Some(orders) = orders() else { return false };
    match policy::before_wait(&orders.rules, thread.held(kernel::now_ns), wait) {
        BeforeWait::Go => false,
        BeforeWait::Peek if orders.rules.policy != Policy::Observe => true,
        BeforeWait::Peek | BeforeWait::Flush => {
            flush_thread(Cause::Wait);
            false
        }
    }
}

/// Before a call that sleeps.
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

/// A read that is no affair of ours: not of TCP, by a thread that holds nothing.
#[inline(always)]
pub(crate) fn cares_not(fd: c_int) -> bool {
    table::identity(fd).kind() != Kind::Tcp && thread::this().is_clean() && !watchdog::is_wanted()
}

/// The question before every other read. `flags` are those of `recv`, 0 for `read`.
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
        Kind::Tcp => incoming_tcp(identity, flags),
        Kind::Waits | Kind::Unknown => {
            if errno::kept(|| sockets::would_wait(fd)) {
                flush_thread(Cause::Wait);
            }
            Incoming::Go
        }
    }
}

fn incoming_tcp(identity: Identity, flags: c_int) -> Incoming {
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
    match policy::before_read(&orders.rules, read) {
        BeforeRead::Go => Incoming::Report,
        BeforeRead::Try if orders.rules.policy != Policy::Observe => Incoming::Try,
        BeforeRead::Try | BeforeRead::Flush => {
            flush_thread(Cause::Read);
            Incoming::Go
        }
    }
}

/// After a read that did not wait.
#[inline(always)]
pub(crate) fn found(result: ssize_t) {
    let thread = thread::this();
    if result < 0 && errno::get() == libc::EAGAIN {
        if thread.is_clean() {
            thread.end_interval();
        } else {
            consider(thread, Found::Nothing);
        }
    } else if !thread.is_clean() {
        consider(thread, Found::Something);
    }
}

#[cold]
fn consider(thread: &Thread, found: Found) {
    let age_ns = || match thread.held(kernel::now_ns) {
        Held::For { age_ns } => age_ns,
        Held::Nothing => 0,
    };
    if policy::after_read(found, age_ns) == AfterRead::Flush {
        flush_thread(Cause::Read);
    }
}
