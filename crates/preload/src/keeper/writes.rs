//! The program's writes: hold, push or pass.

use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, ssize_t};

use super::marks::{flush, flush_thread, mark};
use crate::holding::Holding;
use crate::live::{self, LIVE};
use crate::orders::{Orders, orders};
use crate::page::Cause;
use crate::table::{self, Identity, Kind};
use crate::thread::{LastWrite, Thread, Wrote};
use crate::{clock, kernel, ledger, measure, observe, sockets, thread, watchdog};
use tinygram_coalesce::{Decision, Memory, Policy, Write};

/// What to do with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// Make it as it is.
    Pass,
    /// Make it as it is, then call [`passed`].
    Report,
    /// Make it with `MSG_MORE`, then call [`held`].
    Hold,
    /// Make it as it is; it takes along what is held. Then call [`pushed`].
    Push(Taken),
}

/// What a write takes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The mark of what was held before the write. It stays until the write is made, so a write
    /// that fails or is never made leaves it. Only this mark is removed then: if another thread
    /// holds bytes meanwhile, it has changed the mark (`mark`), and those bytes may be behind the
    /// write.
    since_ns: u64,
    cause: Cause,
}

impl Taken {
    #[inline(always)]
    fn by(cause: Cause, holding: &Holding) -> Self {
        let since_ns = holding.settled_mark();
        Self { since_ns, cause }
    }
}

/// Answers the question before every write of `len` bytes.
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
    let thread = thread::this();
    if !identity.has(Identity::NODELAY_SET) {
        identity = sockets::take_over(orders, fd, identity);
    }
    if orders.policy() == Policy::Observe {
        observe::before_write(orders, fd, identity, holding);
    }
    let Entry { decision, dirty } = enter(orders, fd, identity, holding, thread, Sent::Bytes(len));
    match (decision == Decision::Hold, orders.policy()) {
        (true, Policy::Observe) => {
            mark(fd, holding, thread);
            Outgoing::Report
        }
        (true, Policy::CorkUntilBlock) => {
            if holding.held_since() == 0 {
                kernel::set_option(fd, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
            }
            mark(fd, holding, thread);
            Outgoing::Report
        }
        (true, _) => {
            begin_sending(fd, holding, thread);
            mark(fd, holding, thread);
            Outgoing::Hold
        }
        _ if dirty && decision == Decision::Complete => {
            Outgoing::Push(Taken::by(Cause::LastWrite, holding))
        }
        _ if dirty && decision == Decision::Overdue => {
            Outgoing::Push(Taken::by(Cause::LongAnswer, holding))
        }
        _ if dirty => Outgoing::Push(Taken::by(Cause::LargeWrite, holding)),
        _ => Outgoing::Report,
    }
}

/// Counts the calling thread as one that sends on `fd`.
#[inline(always)]
pub(crate) fn begin_sending(fd: c_int, holding: &Holding, thread: &Thread) {
    thread.begin_sending(fd);
    holding.begin_sending();
}

#[inline(always)]
fn end_sending(holding: &Holding, thread: &Thread) {
    holding.end_sending();
    thread.end_sending();
}

/// Is called at the end of a thread that has sent. If it was cancelled in the middle of a send, it
/// is still counted as sending, and nobody would ever remove the socket's mark.
pub(crate) unsafe extern "C" fn at_thread_end(_: *mut libc::c_void) {
    if let Some(holding) = thread::this().end_sending().and_then(table::holding) {
        holding.end_sending();
    }
    flush_thread(Cause::Wait);
}

/// What was sent, for the predictor.
#[derive(Clone, Copy)]
enum Sent {
    /// A write of this many bytes, which may be held.
    Bytes(usize),
    /// Bytes that left by a call that cannot hold them.
    Unholdable(usize),
}

/// The decision about a write.
struct Entry {
    decision: Decision,
    /// Whether bytes were held before.
    dirty: bool,
}

/// Enters a write into the predictor's memory and into the books, and asks the policy.
#[inline(always)]
fn enter(
    orders: &Orders,
    fd: c_int,
    identity: Identity,
    holding: &Holding,
    thread: &Thread,
    sent: Sent,
) -> Entry {
    let (len, judged_len) = match sent {
        Sent::Bytes(len) => (len, len),
        Sent::Unholdable(len) => (len, usize::MAX),
    };
    let covered = Identity::BOOKED | Identity::ALONE | Identity::STREAM;
    if identity.masked(covered) != Identity::BOOKED {
        return enter_uncovered(orders, fd, identity, holding, thread, len);
    }
    let interval = thread.interval();
    let since_ns = holding.held_since();
    let dirty = since_ns != 0;
    let known = holding.memory.load(Relaxed);
    let before = holding.interval.load(Relaxed);
    let mut memory = match known {
        0 => table::habit(identity).fresh(&orders.rules()),
        known => Memory::unpack(known),
    };
    // Held bytes of another thread form one interval with this thread's: one flush sends both.
    let same_interval = dirty || before == interval;
    if dirty {
        live::count(&LIVE.merged);
    }
    let write = Write {
        len: judged_len,
        same_interval,
    };
    let mut decision = Decision::Pass;
    if len > 0 {
        decision = memory.on_write(&orders.rules(), write);
    }
    let Fate {
        unwatched,
        measured,
    } = match decision {
        Decision::Hold => fate(orders, identity, holding, &memory, write),
        _ => Fate::default(),
    };
    if measured || unwatched {
        memory.passes_after_all();
        decision = Decision::Pass;
    }
    if decision == Decision::Hold && dirty {
        let age_ns = || clock::now_ns().saturating_sub(since_ns);
        if memory.is_overdue(&orders.rules(), age_ns) {
            decision = Decision::Overdue;
        }
    }
    table::teach(identity, |habit| habit.after_write(&memory, write));
    holding.memory.store(memory.pack(), Relaxed);
    holding.interval.store(interval, Relaxed);
    measure::answers(identity, holding);
    let wrote = Wrote {
        len,
        held: decision == Decision::Hold,
        joined: dirty,
        second: memory.is_second(),
        unwatched,
        measured,
    };
    ledger::wrote(orders, identity, wrote);
    let last = LastWrite {
        wrote,
        memory: known,
        interval: before,
    };
    thread.note(fd, last);
    Entry { decision, dirty }
}

/// Enters a write that is counted alone: it passes, whatever the policy.
#[inline(always)]
fn enter_uncovered(
    orders: &Orders,
    fd: c_int,
    identity: Identity,
    holding: &Holding,
    thread: &Thread,
    len: usize,
) -> Entry {
    let wrote = Wrote {
        len,
        held: false,
        joined: false,
        second: false,
        unwatched: false,
        measured: false,
    };
    ledger::wrote(orders, identity, wrote);
    let last = LastWrite {
        wrote,
        memory: holding.memory.load(Relaxed),
        interval: holding.interval.load(Relaxed),
    };
    thread.note(fd, last);
    Entry {
        decision: Decision::Pass,
        dirty: false,
    }
}

/// Why a write that is to be held passes.
#[derive(Clone, Copy, Default)]
struct Fate {
    /// No watchdog watches over it.
    unwatched: bool,
    /// Its service's trial says so.
    measured: bool,
}

/// Returns what becomes of a write that is to be held. Who asks for the fewest segments whatever they cost (`--eager`)
/// gets no trials.
#[inline(always)]
fn fate(
    orders: &Orders,
    identity: Identity,
    holding: &Holding,
    memory: &Memory,
    write: Write,
) -> Fate {
    // Only what would be held otherwise shows whether holding is worse.
    let unwatched = !may_be_held(orders, memory, write);
    let begins = !write.same_interval;
    let is_tried = orders.policy() == Policy::FlushOnBlock && !orders.rules().eager;
    let mut measured = false;
    if is_tried && unwatched {
        measure::unwatched(identity, begins);
    } else if is_tried {
        measured = measure::passes(identity, holding, begins);
    }
    Fate {
        unwatched,
        measured,
    }
}

/// Returns whether there is a watchdog to bound the hold, or one worth waking.
#[inline(always)]
fn may_be_held(orders: &Orders, memory: &Memory, write: Write) -> bool {
    match orders.policy() {
        Policy::FlushOnBlock => {
            let idles = watchdog::rests()
                && !memory.is_worth_waking(&orders.rules(), write, watchdog::is_worth_waking);
            !idles && watchdog::guards()
        }
        Policy::CorkUntilBlock => watchdog::guards(),
        Policy::Nodelay | Policy::Observe => true,
    }
}

/// Is called after bytes left by a call that cannot hold them (`sendfile`, a batch of messages):
/// they belong to the same message as the writes around them. If `whole`, they also took along what
/// was held.
pub(crate) fn sent_alongside(fd: c_int, sent: usize, whole: bool, taken: Taken) {
    let identity = table::identity(fd);
    if identity.kind() != Kind::Tcp || sent == 0 {
        return;
    }
    if let (Some(orders), Some(holding)) = (orders(), table::holding(fd)) {
        let sent = Sent::Unholdable(sent);
        enter(orders, fd, identity, holding, thread::this(), sent);
    }
    if whole {
        took_along(fd, taken);
    }
}

/// Is called before a call that may take along what is held on `fd`; [`took_along`] is called after
/// it.
#[inline(always)]
pub(crate) fn taking(fd: c_int, cause: Cause) -> Taken {
    let since_ns = table::holding(fd).map_or(0, Holding::settled_mark);
    Taken { since_ns, cause }
}

/// Is called after a held write. The watchdog may have flushed the socket between the mark and the
/// bytes' arrival (a write can wait for room): then they need a fresh mark.
#[inline(always)]
pub(crate) fn held(fd: c_int, result: ssize_t) {
    let Some(holding) = table::holding(fd) else {
        return;
    };
    if result >= 0 && holding.held_since() == 0 {
        mark(fd, holding, thread::this());
    }
    end_sending(holding, thread::this());
    if result < 0 {
        refused(fd);
    }
}

/// Is called instead of [`held`] if `fd` turned out to be no socket.
#[cold]
pub(crate) fn not_held(fd: c_int) {
    if let Some(holding) = table::holding(fd) {
        end_sending(holding, thread::this());
    }
    table::forget(fd);
}

/// Is called after a write that took along what was held. Even a partial write has done so: the
/// kernel pushes whatever it queued before it returns.
pub(crate) fn pushed(fd: c_int, result: ssize_t, taken: Taken) {
    if result > 0 {
        took_along(fd, taken);
        if observe::is_on() {
            observe::after_write(fd);
        }
    } else if result < 0 {
        refused(fd);
    }
}

/// Records that what was held on `fd` has left with something else, without a flush.
pub(crate) fn took_along(fd: c_int, Taken { since_ns, cause }: Taken) {
    if let (Some(orders), Some(holding)) = (orders(), table::holding(fd)) {
        if orders.policy() == Policy::CorkUntilBlock {
            flush(fd, cause);
        } else if since_ns != 0 && holding.unmark(since_ns) {
            thread::this().forget_last(fd);
            if !holding.is_rescued(since_ns) {
                ledger::flushed(orders, fd, since_ns, cause);
            }
        }
    }
}

/// Is called after a write that was made as it is.
#[inline(always)]
pub(crate) fn passed(fd: c_int, result: ssize_t) {
    if result < 0 {
        refused(fd);
    } else if observe::is_on() {
        observe::after_write(fd);
    }
}

/// Records that the kernel accepted no byte (mostly `EAGAIN`): the program will try again, and that
/// must not count as a second write.
#[cold]
fn refused(fd: c_int) {
    if let (Some(orders), Some(holding)) = (orders(), table::holding(fd))
        && let Some(last) = thread::this().last_write(fd)
    {
        holding.memory.store(last.memory, Relaxed);
        holding.interval.store(last.interval, Relaxed);
        ledger::refused(orders, table::identity(fd), last.wrote);
    }
}
