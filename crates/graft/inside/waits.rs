//! Where a thread waits, and where everything ends.

use core::sync::atomic::Ordering::Relaxed;

use crate::flush;
use crate::layout::{Cause, Inert, Shared};
use crate::thread::{Caller, waits_of};
use crate::writes::add;

/// The thread is about to wait for events or for another thread.
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

/// Another program is about to take this one's place: what is held must not stay behind.
pub(crate) fn before_the_end(caller: &Caller<'_>) {
    for thread in &caller.shared.threads {
        if thread.key.load(Relaxed) != 0 {
            flush::thread(caller.shared, thread, Cause::Process);
        }
    }
}

/// From now on everything passes through.
pub(crate) fn inert(caller: &Caller<'_>, why: Inert) {
    before_the_end(caller);
    caller.shared.inert.store(why as u32, Relaxed);
}
