//! What goes out: hold it, let it pass, or let it take along what is held.

use core::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use tinygram_coalesce::{Decision, Habit, Memory, Policy, Rules, Write};

use crate::call::{Call, Next};
use crate::counts::add;
use crate::kernel::{self, MSG_DONTWAIT, MSG_MORE, MSG_NOSIGNAL};
use crate::layout::{Cause, HELD, LEAVING, Shared, Socket, class};
use crate::machine::nr;
use crate::rules::{Outcome, policy, rules};
use crate::table::socket;
use crate::thread::Caller;
use crate::{bound, flush, peers, sockets, waits};

/// `write` on any descriptor, or `sendto`.
#[inline(always)]
pub(crate) fn outgoing(caller: &Caller<'_>, call: &mut Call) -> Next {
    if call.word == nr::SENDTO && (call.a4 & !PLAIN != 0 || call.a5 != 0) {
        return alongside(caller, call, call.a1);
    }
    let Some(socket) = socket(caller.shared, call.a1) else {
        return Next::Go;
    };
    // Asked for before the stack is needed for the decision.
    let what = sockets::known(caller, call.a1, socket);
    if what & (class::KIND | class::ALONE) != class::TCP || call.a3 == 0 {
        return Next::Go;
    }
    let (shared, length) = (caller.shared, call.a3);
    let is_counted = socket.peer.load(Relaxed) != 0;
    if is_counted {
        peers::count_write(shared, socket, length);
    }
    // Apart, because deciding and acting each need much of the stack.
    let outcome = judge(caller, socket, length);
    match outcome {
        Outcome::Held => holds(caller, call, socket),
        Outcome::Unwatched => passes_unwatched(shared, socket),
        Outcome::Passes if socket.mark.load(Relaxed) & (HELD | LEAVING) == HELD => {
            takes_along(shared, socket);
        }
        Outcome::Passes => {}
    }
    if is_counted {
        peers::count_outcome(shared, socket, outcome);
    }
    Next::Go
}

#[inline(never)]
fn judge(caller: &Caller<'_>, socket: &Socket, length: u64) -> Outcome {
    decide(caller, socket, &rules(caller.shared), length as usize)
}

#[inline(never)]
fn holds(caller: &Caller<'_>, call: &mut Call, socket: &Socket) {
    let shared = caller.shared;
    add(&shared.counts.held, 1);
    if policy(shared) == Policy::FlushOnBlock {
        flush::mark(caller, call.a1, socket);
        bound::alert(shared);
        // The program's own SYSCALL makes it, so a profile shows what it always shows.
        call.a4 = if call.word == nr::SENDTO {
            call.a4 | MSG_MORE
        } else {
            MSG_MORE
        };
        call.word = nr::SENDTO;
        call.a5 = 0;
        call.a6 = 0;
    }
}

/// Lets a write pass that was to be held; if the watchdog is gone for good, all that is held leaves.
#[inline(never)]
fn passes_unwatched(shared: &Shared, socket: &Socket) {
    takes_along(shared, socket);
    if shared.inert.load(Relaxed) != 0 {
        waits::everything(shared);
    }
}

/// The flags with which `sendto` may be held.
const PLAIN: u64 = MSG_NOSIGNAL | MSG_DONTWAIT;

/// Handles any other call that sends on `fd`, which cannot hold anything: it belongs to the message.
#[inline(always)]
pub(crate) fn alongside(caller: &Caller<'_>, call: &mut Call, fd: u64) -> Next {
    let shared = caller.shared;
    let Some(socket) = socket(shared, fd) else {
        return Next::Go;
    };
    // Also of a connection that is never written to otherwise: what is sent on it must not wait for Nagle's algorithm.
    let what = sockets::known(caller, fd, socket);
    if what & (class::KIND | class::ALONE) != class::TCP {
        return Next::Go;
    }
    if socket.peer.load(Relaxed) != 0 {
        peers::count_write(shared, socket, 0);
    }
    judge(caller, socket, u64::MAX);
    let mark = socket.mark.load(SeqCst);
    if mark & (HELD | LEAVING) != HELD || !may_take_along(call) {
        flush::one(shared, fd, Cause::Write);
        return Next::Go;
    }
    if caller.is_thread() && matches!(call.word, nr::WRITEV | nr::SENDMSG | nr::SENDTO) {
        // As a write that is not held: it may wait for room, and be cancelled there.
        takes_along(shared, socket);
        return Next::Go;
    }
    let number = call.word;
    call.word = call.make();
    if took_along(number, call) {
        flush::count_hold(shared, socket, Cause::Write);
        flush::unmark(shared, fd, socket, mark);
    } else {
        // It sent nothing, or the kernel itself holds the tail for the rest of the file.
        flush::one(shared, fd, Cause::Write);
    }
    Next::Made
}

/// Returns whether a call sends, with its own octets, those that were held before them.
fn may_take_along(call: &Call) -> bool {
    match call.word {
        nr::WRITEV | nr::SENDFILE => true,
        nr::SENDTO => call.a4 & !PLAIN == 0,
        nr::SENDMSG => call.a3 & !PLAIN == 0,
        nr::SPLICE => call.a6 & SPLICE_F_MORE == 0,
        _ => false,
    }
}

/// Returns whether the call with this number did, by its result.
fn took_along(number: u64, call: &Call) -> bool {
    match number {
        nr::SENDFILE => call.word == call.a4,
        nr::SPLICE => call.word == call.a5,
        _ => call.word != 0 && !kernel::failed(call.word),
    }
}

const SPLICE_F_MORE: u64 = 4;

/// Notes that the write about to be made takes along what is held. The mark stays until this thread's
/// next call shows that it was made.
pub(crate) fn takes_along(shared: &Shared, socket: &Socket) {
    let mark = socket.mark.load(SeqCst);
    if mark & (HELD | LEAVING) == HELD {
        let leaving = mark | LEAVING;
        if socket
            .mark
            .compare_exchange(mark, leaving, SeqCst, SeqCst)
            .is_ok()
        {
            flush::count_hold(shared, socket, Cause::Write);
        }
    }
}

/// Enters a write into the predictor's memory and asks the policy.
#[inline(always)]
fn decide(caller: &Caller<'_>, socket: &Socket, rules: &Rules, length: usize) -> Outcome {
    let shared = caller.shared;
    let mark = socket.mark.load(Relaxed);
    let is_held = mark & (HELD | LEAVING) == HELD;
    let counts = &shared.counts;
    add(&counts.writes, 1);
    if length != usize::MAX {
        add(&counts.octets, length as u64);
    }
    if is_held {
        add(&counts.merged, 1);
    }
    let waits = caller.waits().load(Relaxed);
    let write = Write {
        len: length,
        // Octets held by another task form one interval with this one's: one flush sends both.
        same_interval: is_held
            || socket.task.load(Relaxed) == caller.task && socket.waits.load(Relaxed) == waits,
    };
    let habit = shared.habits.get(socket.habit.load(Relaxed) as usize);
    let expected = habit.map_or(Habit::default(), |word| Habit::unpack(word.load(Relaxed)));
    let mut memory = match socket.memory.load(Relaxed) {
        0 => expected.fresh(rules),
        known => Memory::unpack(known),
    };
    let mut decision = memory.on_write(rules, write);
    let mut outcome = Outcome::Passes;
    if decision == Decision::Hold
        && rules.policy == Policy::FlushOnBlock
        && !bound::may_hold(shared, rules, &memory, write, is_held)
    {
        memory.passes_after_all();
        add(&counts.unwatched, 1);
        outcome = Outcome::Unwatched;
        decision = Decision::Pass;
    }
    if decision == Decision::Hold && is_held {
        let age_ns = || kernel::now_ns(shared).saturating_sub(socket.since_ns.load(Relaxed));
        if memory.is_overdue(rules, age_ns) {
            decision = Decision::Overdue;
        }
    }
    if let Some(word) = habit {
        let after = expected.after_write(&memory, write);
        if after != expected {
            word.store(after.pack(), Relaxed);
        }
    }
    socket.memory.store(memory.pack(), Relaxed);
    socket.task.store(caller.task, Relaxed);
    socket.waits.store(waits, Relaxed);
    if decision == Decision::Hold {
        outcome = Outcome::Held;
    }
    outcome
}
