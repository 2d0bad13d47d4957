//! Who calls: the thread, and the task (goroutine) on it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use crate::kernel;
use crate::layout::{Inert, Shared, TASKS, THREADS, Thread};
use crate::machine::{call, nr};

/// The thread and the task that make a call.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) thread: &'a Thread,
    pub(crate) task: u64,
}

impl<'a> Caller<'a> {
    /// Returns who calls; `None` if too many threads do, or if this is not what a goroutine looks
    /// like: then everything passes through.
    ///
    /// # Safety
    /// `goroutine` points to a Go `g`.
    #[inline(always)]
    pub(crate) unsafe fn of_goroutine(goroutine: u64, shared: &'a Shared) -> Option<Self> {
        let here = 0_u8;
        let here = &raw const here as u64;
        let word = |at: u64| {
            // SAFETY: the caller's; a `g` has these fields in every version that is accepted.
            unsafe { *((goroutine + at) as *const u64) }
        };
        if !(word(STACK_LOW)..word(STACK_HIGH)).contains(&here) {
            shared.inert.store(Inert::Registers as u32, Relaxed);
            return None;
        }
        let thread = find(shared, word(ITS_M), is_thread_of_go)?;
        Some(Self {
            shared,
            thread,
            task: goroutine,
        })
    }

    /// Returns who calls in a program in C, whose threads are its tasks; `None` if too many do.
    #[inline(always)]
    pub(crate) fn of_thread(pointer: u64, shared: &'a Shared) -> Option<Self> {
        let thread = find(shared, pointer, |_| true)?;
        Some(Self {
            shared,
            thread,
            task: pointer,
        })
    }

    /// Returns whether the task is the thread itself: in a program in C.
    pub(crate) fn is_thread(&self) -> bool {
        self.thread.key.load(Relaxed) == self.task
    }

    /// Returns how often the task has waited.
    pub(crate) fn waits(&self) -> &'a AtomicU64 {
        waits_of(self.shared, self.task)
    }
}

/// Returns the count of a task's waits, which tasks may share.
pub(crate) fn waits_of(shared: &Shared, task: u64) -> &AtomicU64 {
    let index = spread(task) >> (64 - TASKS.trailing_zeros());
    // SAFETY: the shift leaves as many bits as the length has.
    unsafe { shared.waits.get_unchecked(index as usize) }
}

/// Returns the entry of the thread with that key. A new one must satisfy `is_right`, else everything passes
/// through for good.
#[inline(always)]
fn find(shared: &Shared, key: u64, is_right: impl Fn(u64) -> bool) -> Option<&Thread> {
    let first = spread(key) >> (64 - THREADS.trailing_zeros());
    for step in 0..PLACES {
        let index = (first + step) as usize % THREADS;
        // SAFETY: a remainder of the length.
        let thread = unsafe { shared.threads.get_unchecked(index) };
        let known = thread.key.load(Relaxed);
        if known == key {
            return Some(thread);
        }
        if known == 0 {
            if !is_right(key) {
                shared.inert.store(Inert::Registers as u32, Relaxed);
                return None;
            }
            let claimed = thread.key.compare_exchange(0, key, SeqCst, SeqCst);
            if claimed.is_ok() {
                // SAFETY: asks for a number.
                let tid = unsafe { call(nr::GETTID, [0; 6]) };
                thread.tid.store(tid as u32, Relaxed);
            }
            if claimed.is_ok() || claimed == Err(key) {
                return Some(thread);
            }
        }
    }
    None
}

/// Returns whether there is a Go `m` at this address: its first field is a `g` whose `m` it is.
#[cold]
#[inline(never)]
fn is_thread_of_go(address: u64) -> bool {
    let first = kernel::word_at(address);
    let its = first.and_then(|first| kernel::word_at(first.wrapping_add(ITS_M)));
    its == Some(address)
}

fn spread(key: u64) -> u64 {
    (key >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// How many places are searched for a thread.
const PLACES: u64 = 8;
/// `runtime.g`: `stack.lo`, `stack.hi` and `m` (Go 1.19 to 1.27).
const STACK_LOW: u64 = 0;
const STACK_HIGH: u64 = 8;
const ITS_M: u64 = 0x30;
