//! Carries out what the policy decides: marks, flushes, and keeps the books.
//!
//! The bytes themselves are never kept here. A held write is in the kernel's send queue from the
//! start, with `MSG_MORE`; all that is kept is the knowledge that it is there. So nothing this
//! library does or fails to do can lose, repeat or reorder a byte: at worst one leaves later.

mod waits;
mod writes;

use std::sync::OnceLock;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use libc::c_int;

pub(crate) use self::waits::{
    Incoming, before_sleep, cares_not, found, found_no_event, incoming, peeks_before,
};
pub(crate) use self::writes::{
    Outgoing, Taken, held, outgoing, passed, pushed, sent_alongside, taking, took_along,
};
use crate::live::{self, LIVE};
use crate::page::{Cause, Page};
use crate::reach::{Reach, Used};
use crate::settings::{MAX_ONLY, Only, Settings};
use crate::table::{self, Holding};
use crate::thread::{self, Thread};
use crate::{clock, errno, kernel, ledger, watchdog};
use tinygram_coalesce::{Memory, Policy, Rules};

/// What this process was told, for good.
pub(crate) struct Orders {
    pub(crate) only: [Option<Only>; MAX_ONLY],
    pub(crate) page: Option<&'static Page>,
}

impl Orders {
    /// The policy in force: it may be switched while the program runs.
    #[inline(always)]
    pub(crate) fn policy(&self) -> Policy {
        LIVE.policy()
    }

    /// The rules in force.
    #[inline(always)]
    pub(crate) fn rules(&self) -> Rules {
        LIVE.rules()
    }
}

static ORDERS: OnceLock<Orders> = OnceLock::new();

/// Begins: from here on descriptors are known. Called once, before `main`.
pub(crate) fn begin(settings: &Settings<'_>, page: Option<&'static Page>) {
    let orders = Orders {
        only: settings.only,
        page,
    };
    if ORDERS.set(orders).is_ok() {
        LIVE.begin(&settings.rules);
        watchdog::reserve();
        table::reserve();
    }
}

/// What this process was told. Only asked about known descriptors, so never before [`begin`].
#[inline(always)]
pub(crate) fn orders() -> Option<&'static Orders> {
    ORDERS.get()
}

/// The statistics page, if there is one.
pub(crate) fn page() -> Option<&'static Page> {
    orders()?.page
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

/// Records that `fd` is about to have bytes held.
#[inline(always)]
fn mark(fd: c_int, holding: &Holding, thread: &Thread) {
    live::count(&LIVE.held);
    let owner = thread.number();
    let since_ns = holding.since_ns.load(Relaxed);
    let is_listed = since_ns != 0 && holding.owner.load(Relaxed) == owner;
    if is_listed && holding.remark(since_ns) {
        return;
    }
    let now_ns = clock::now_ns();
    // A locked instruction, as `table::watch` and `watchdog::alert` ask for.
    holding.mark(now_ns);
    holding.owner.store(owner, Relaxed);
    if !thread.remember(fd, now_ns) {
        flush_thread(Cause::Overflow);
        holding.mark(now_ns);
        thread.remember(fd, now_ns);
    }
    table::watch(fd);
    watchdog::alert();
}

/// Sends what is held on `fd`, if anything is.
#[inline(always)]
pub(crate) fn flush(fd: c_int, cause: Cause) {
    if let (Some(orders), Some(holding)) = (orders(), table::holding(fd))
        // A `vfork`ed child sees its parent's holdings, but its descriptors may lead elsewhere.
        && holding.since_ns.load(Relaxed) != 0
        && !thread::this().is_borrowed()
    {
        flush_through(fd, fd, orders, holding, cause);
    }
}

/// Sends what is held on `fd`, which the calling thread can reach as `reached`.
fn flush_through(fd: c_int, reached: c_int, orders: &Orders, holding: &Holding, cause: Cause) {
    let since_ns = holding.since_ns.swap(0, SeqCst);
    if since_ns == 0 {
        return;
    }
    match orders.policy() {
        // Flushes whatever the socket was set to before, in one call; a zero-length send does not. (What
        // is held under nodelay was held before the policy was switched.)
        Policy::FlushOnBlock | Policy::Nodelay => {
            kernel::set_option(reached, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
        }
        Policy::CorkUntilBlock => kernel::set_option(reached, libc::IPPROTO_TCP, libc::TCP_CORK, 0),
        Policy::Observe => true,
    };
    ledger::flushed(orders, fd, since_ns, cause);
}

/// The watchdog's own: sends what was held too long on `fd`, and remembers that it had to be.
pub(crate) fn rescue(fd: c_int, holding: &Holding, contended: bool, reach: Reach) -> Used {
    let Some(orders) = orders() else {
        return Used::Gone;
    };
    let mut memory = Memory::unpack(holding.memory.load(Relaxed));
    let goes_over = memory.on_rescue(contended);
    holding.memory.store(memory.pack(), Relaxed);
    // What is written next is another message.
    holding.interval.store(0, Relaxed);
    let identity = table::identity(fd);
    table::teach(identity, |habit| habit.after_rescue(contended));
    live::count(&LIVE.rescued);
    if goes_over {
        live::count(&LIVE.went_over);
        ledger::went_over(orders, identity);
    }
    let since_ns = holding.since_ns.load(Relaxed);
    let used = reach.with(fd, |reached| {
        flush_through(fd, reached, orders, holding, Cause::Watchdog);
    });
    if used == Used::Gone {
        let _ = holding
            .since_ns
            .compare_exchange(since_ns, 0, SeqCst, Relaxed);
    }
    used
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
