//! `observe`: how long the program's writes wait as it is, measured by the kernel's own figures.
//!
//! A write that is not sent at once while something is unacknowledged waits for that acknowledgment
//! (Nagle's algorithm). At the next write, or at the end of the connection, the kernel still tells
//! when data was last sent on the connection (`tcpi_last_data_sent`, in milliseconds), and so how
//! long the write waited.
//!
//! Whether the program waited, too, is checked at three moments: the thread that wrote goes to
//! sleep while the write is not sent; the program reads data of that connection before it writes on
//! it again; and an acknowledgment without data came between the two. If the answer itself brought
//! the acknowledgment, the write's wait did not delay the answer.
//!
//! What a cork holds waits for no acknowledgment, so nothing is said of it but how often a thread slept meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};

use libc::c_int;

use crate::flight::{self, Flight};
use crate::holding::Holding;
use crate::orders::{self, Orders};
use crate::table::{self, Identity};
use crate::{clock, errno, kernel, ledger, sockets, thread};
use tinygram_coalesce::{Policy, Wait};
use tinygram_stalls::thresholds::{COARSE_WAIT_NS, UNSEEN_TIMER_COARSELY_NS};

/// The states of a write that waits: values of [`Holding::awaited`].
///
/// A further state is [`CORKED`], and another is [`SLEPT`] plus the number of acknowledgments without data that had come by
/// then.
const FRESH: u64 = 0;
/// The write was sent before its thread slept, or it is in the books.
const DONE: u64 = 1;
/// A cork held it right after it was written. It waits for no acknowledgment.
const CORKED: u64 = 1 << 62;
/// Its thread slept while it waited.
const SLEPT: u64 = 1 << 63;

/// Whether anything is observed.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether some write waits whose thread has not slept since.
static IS_CURIOUS: AtomicBool = AtomicBool::new(false);

/// Starts observing if the policy is `observe` and there are books.
pub(crate) fn begin(policy: Policy, has_page: bool) {
    IS_ON.store(policy == Policy::Observe && has_page, Relaxed);
}

/// Returns whether the program's waits and reads are looked at.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Checks the state of a waiting write before the next write on `fd`, or before its end.
#[inline(always)]
pub(crate) fn before_write(orders: &Orders, fd: c_int, identity: Identity, holding: &Holding) {
    let since_ns = holding.stalled_ns.load(Relaxed);
    if since_ns != 0 && orders.page.is_some() {
        errno::kept(|| settle(orders, fd, identity, holding, since_ns));
    }
}

fn settle(orders: &Orders, fd: c_int, identity: Identity, holding: &Holding, since_ns: u64) {
    if holding.awaited.load(Relaxed) & SLEPT != 0 {
        // The program writes on, or ends, so it did not wait for an answer.
        holding.awaited.store(FRESH, Relaxed);
        ledger::unawaited(orders, identity);
    }
    let Some(flight) = flight::flight(fd).filter(|flight| flight.not_sent == 0) else {
        IS_CURIOUS.store(true, Relaxed);
        return;
    };
    holding.stalled_ns.store(0, Relaxed);
    let waited_ns = waited_ns(flight, since_ns);
    if waited_ns < LEAST_STALL_NS {
        return holding.forget_trace();
    }
    ledger::stalled(orders, identity, waited_ns);
    if let Some(traces) = orders.traces {
        traces.ready(holding.trace.swap(0, Relaxed), waited_ns);
    }
}

/// Returns the time from the write until data was last sent, to a millisecond.
fn waited_ns(flight: Flight, since_ns: u64) -> u64 {
    let sent_ns = clock::now_ns().saturating_sub(u64::from(flight.last_sent_ms) * 1_000_000);
    sent_ns.saturating_sub(since_ns)
}

/// Checks after a write on `fd` whether it waits.
pub(crate) fn after_write(fd: c_int) {
    if let (Some(orders), Some(holding)) = (orders::orders(), table::holding(fd))
        && orders.page.is_some()
        && holding.stalled_ns.load(Relaxed) == 0
    {
        let Some(flight) = errno::kept(|| flight::flight(fd)) else {
            return;
        };
        if flight.is_corked() {
            let thread = thread::this().number();
            holding.writer.store(thread, Relaxed);
            holding.awaited.store(CORKED, SeqCst);
            IS_CURIOUS.store(true, SeqCst);
            return;
        }
        if !errno::kept(|| waits(fd, flight)) {
            return;
        }
        let thread = thread::this().number();
        holding.awaited.store(FRESH, Relaxed);
        holding.writer.store(thread, Relaxed);
        if let Some(traces) = orders.traces {
            let trace = errno::kept(|| traces.take(thread));
            holding.trace.store(trace, Relaxed);
        }
        holding.stalled_ns.store(clock::now_ns(), SeqCst);
        IS_CURIOUS.store(true, SeqCst);
    }
}

fn waits(fd: c_int, flight: Flight) -> bool {
    flight.waits() && kernel::option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY) == Some(0)
}

/// Is called before a call that waits in this way. Returns true if it must be tried without waiting
/// first.
#[inline(always)]
pub(crate) fn peeks_before(wait: Wait) -> bool {
    is_on() && IS_CURIOUS.load(Relaxed) && look_before(wait)
}

#[cold]
fn look_before(wait: Wait) -> bool {
    if wait == Wait::Blind {
        sleeps();
    }
    wait == Wait::Peekable
}

/// Is called after a call that may wait for events found none.
#[inline(always)]
pub(crate) fn found_no_event() {
    if is_on() && IS_CURIOUS.load(Relaxed) {
        sleeps();
    }
}

/// Is called before a read that may wait on a connection.
pub(crate) fn before_read(fd: c_int) {
    if IS_CURIOUS.load(Relaxed) && errno::kept(|| sockets::would_wait(fd)) {
        sleeps();
    }
}

/// Checks which writes of the calling thread, which is about to sleep, still wait.
#[cold]
fn sleeps() {
    let me = thread::this().number();
    let mut others = false;
    // Before the check: what another thread writes meanwhile must be checked again.
    IS_CURIOUS.store(false, SeqCst);
    for fd in table::in_use() {
        let waits = |holding: &&Holding| match holding.awaited.load(Relaxed) {
            FRESH => holding.stalled_ns.load(SeqCst) != 0,
            CORKED => true,
            _ => false,
        };
        let Some(holding) = table::holding(fd).filter(waits) else {
            continue;
        };
        if holding.writer.load(Relaxed) != me {
            others = true;
            continue;
        }
        let flight = errno::kept(|| flight::flight(fd));
        if holding.awaited.load(Relaxed) == CORKED {
            holding.awaited.store(FRESH, Relaxed);
            if let (Some(orders), true) = (orders::orders(), flight.is_some_and(Flight::is_corked))
            {
                ledger::corked(orders, table::identity(fd));
            }
            continue;
        }
        holding.awaited.store(
            match flight {
                Some(flight) if flight.not_sent > 0 => SLEPT | u64::from(flight.bare_acks),
                _ => DONE,
            },
            Relaxed,
        );
    }
    if others {
        IS_CURIOUS.store(true, SeqCst);
    }
}

/// Is called after a read of `fd` that found something, or the `end`.
#[inline(always)]
pub(crate) fn found(fd: c_int, end: bool) {
    if is_on()
        && let Some(holding) = table::holding(fd)
        && holding.awaited.load(Relaxed) & SLEPT != 0
    {
        errno::kept(|| weigh(fd, holding, end));
    }
}

#[cold]
fn weigh(fd: c_int, holding: &Holding, end: bool) {
    let (Some(orders), Some(flight)) = (orders::orders(), flight::flight(fd)) else {
        return;
    };
    if flight.not_sent > 0 {
        // This was on its way before. The program still waits.
        return;
    }
    let before = holding.awaited.swap(DONE, Relaxed) as u32;
    let identity = table::identity(fd);
    // A FIN is a segment without data, too.
    let bare_acks = flight
        .bare_acks
        .wrapping_sub(before)
        .saturating_sub(end.into());
    if bare_acks == 0 {
        ledger::unawaited(orders, identity);
    } else {
        let since_ns = holding.stalled_ns.load(Relaxed);
        match waited_ns(flight, since_ns) {
            brief_ns if brief_ns < LEAST_TIMER_NS => ledger::awaited_briefly(orders, identity),
            waited_ns => ledger::awaited(orders, identity, waited_ns),
        }
    }
}

/// The least wait that counts.
const LEAST_STALL_NS: u64 = COARSE_WAIT_NS.unsigned_abs();
/// A write that waited for less did not wait for the receiver's timer, but for a thread that read late.
const LEAST_TIMER_NS: u64 = UNSEEN_TIMER_COARSELY_NS.unsigned_abs();
