//! Where a thread waits, and where everything ends.

use core::sync::atomic::Ordering::Relaxed;

use crate::counts::add;
use crate::flush;
use crate::layout::{Cause, Inert, Shared};
use crate::machine::{call, nr};
use crate::thread::{Caller, waits_of};

/// Notes which task runs. What another task left on this thread leaves now: that task has parked, or runs elsewhere.
#[inline(always)]
pub(crate) fn take_over(caller: &Caller<'_>) {
    let Caller {
        shared,
        thread,
        task,
    } = *caller;
    let before = thread.task.load(Relaxed);
    if before != task {
        thread.task.store(task, Relaxed);
        has_waited(shared, before);
        flush::thread(shared, thread, Cause::Switch);
    }
}

/// Sends what the thread holds before it waits for events or for another thread.
pub(crate) fn before(caller: &Caller<'_>) {
    has_waited(caller.shared, caller.thread.task.load(Relaxed));
    if flush::holds(caller) {
        flush::thread(caller.shared, caller.thread, Cause::Wait);
    }
}

/// Counts a wait of a task: its next write begins a new message.
pub(crate) fn has_waited(shared: &Shared, task: u64) {
    add(waits_of(shared, task), 1);
}

/// Sends what is held before another program takes this one's place, or that of a child that shares its memory: it must
/// not stay behind.
pub(crate) fn before_another_program(shared: &Shared) {
    add(&shared.executed, 1);
    // SAFETY: asks for a number.
    let pid = unsafe { call(nr::GETPID, [0; 6]) };
    if pid as u32 == shared.pid.load(Relaxed) {
        inert(shared, Inert::Replaced);
    } else {
        everything(shared);
    }
}

/// Sends everything that any thread holds.
pub(crate) fn everything(shared: &Shared) {
    for thread in &shared.threads {
        if thread.key.load(Relaxed) != 0 {
            flush::thread(shared, thread, Cause::Process);
        }
    }
}

/// Sends everything that is held, and lets everything pass through from now on.
pub(crate) fn inert(shared: &Shared, why: Inert) {
    shared.inert.store(why as u32, Relaxed);
    everything(shared);
}
