//! What the kernel holds back on one socket for the library, and the rule that it is always marked.
//!
//! *Held implies marked*: while a byte may be held, the socket's mark is there, and the watchdog
//! sees it. A thread can lose its CPU between any two instructions, so the order is fixed. A writer
//! counts itself as sending, sets or changes the mark, and then sends. A flusher reads the mark,
//! then whether anybody is sending, flushes, and removes the mark only if nobody was sending and
//! the mark is still the one it read ([`Holding::settled_mark`], [`Holding::unmark`]). The watchdog
//! does not remove a mark: it notes that it has flushed it ([`Holding::note_rescue`]) and flushes
//! again, each time after twice the time.

use std::sync::atomic::{
    AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::SeqCst,
};

use crate::orders;

/// What the kernel holds back on a socket for the library. All zeros, as the table's pages begin,
/// is a socket on which nothing was ever held.
#[repr(C)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Holding {
    /// The mark: when the oldest held byte was written, plus a nanosecond for each write since; 0
    /// when nothing is held.
    since_ns: AtomicU64,
    /// The interval of the last write, see [`crate::thread::Thread::interval`].
    pub(crate) interval: AtomicU64,
    /// The predictor's memory, packed.
    pub(crate) memory: AtomicU64,
    /// Under `observe`: since when a write has waited for an acknowledgment; 0 if none waits.
    pub(crate) stalled_ns: AtomicU64,
    /// Under `observe`: whether its thread slept and the program waited for the peer meanwhile.
    pub(crate) awaited: AtomicU64,
    /// While the socket's service is tried: when its last request was read, with two notes about its answer in the
    /// lowest bits (`measure.rs`); 0 if none was.
    pub(crate) asked: AtomicU64,
    /// The data segments that the socket had sent when it was booked, for the statistics.
    pub(crate) segments_before: AtomicU32,
    /// The thread whose list contains the socket.
    pub(crate) owner: AtomicU32,
    /// Under `observe`: the thread that made the waiting write.
    pub(crate) writer: AtomicU32,
    /// Under `observe`: the trace that the write left, see [`crate::traces`]; 0 if none.
    pub(crate) trace: AtomicU32,
    /// The number of threads between [`Holding::begin_sending`] and [`Holding::end_sending`].
    sending: AtomicU32,
    /// The low half of the mark that the watchdog has flushed last.
    rescued: AtomicU32,
}

impl Holding {
    /// Returns the mark, or 0 if there is none.
    #[inline(always)]
    pub(crate) fn mark_now(&self) -> u64 {
        self.since_ns.load(SeqCst)
    }

    /// Returns since when bytes have been held that nobody has flushed; 0 if there are none.
    #[inline(always)]
    pub(crate) fn held_since(&self) -> u64 {
        let mark = self.since_ns.load(Relaxed);
        if mark != 0 && self.is_rescued(mark) {
            0
        } else {
            mark
        }
    }

    /// Returns the mark if a flush from now on takes along all that it stands for; 0 if there is
    /// no mark, or if a thread may be about to send more under it.
    #[inline(always)]
    pub(crate) fn settled_mark(&self) -> u64 {
        let mark = self.since_ns.load(SeqCst);
        if self.sending.load(SeqCst) == 0 {
            mark
        } else {
            0
        }
    }

    /// Records that the calling thread is about to set or change the mark and to send under it.
    #[inline(always)]
    pub(crate) fn begin_sending(&self) {
        self.sending.fetch_add(1, SeqCst);
    }

    /// Records that the call has returned. The count stops at zero, because [`Holding::forget`] may
    /// have come between.
    #[inline(always)]
    pub(crate) fn end_sending(&self) {
        let _ = self
            .sending
            .fetch_update(SeqCst, Relaxed, |count| count.checked_sub(1));
    }

    /// Records that bytes are about to be held. An existing mark is changed by a nanosecond, so
    /// that nobody mistakes it for the previous one; one that the watchdog has flushed is replaced.
    #[inline(always)]
    pub(crate) fn mark(&self, now_ns: u64) {
        let _ = self.since_ns.fetch_update(SeqCst, Relaxed, |mark| {
            Some(if mark == 0 || self.is_rescued(mark) {
                now_ns
            } else {
                mark + 1
            })
        });
    }

    /// Changes the present mark; returns false if it has gone or was changed by another thread.
    #[inline(always)]
    pub(crate) fn remark(&self, mark: u64) -> bool {
        let changed = self
            .since_ns
            .compare_exchange(mark, mark + 1, SeqCst, Relaxed);
        changed.is_ok()
    }

    /// Removes only this mark; returns whether it was there.
    #[inline(always)]
    pub(crate) fn unmark(&self, mark: u64) -> bool {
        let taken = self.since_ns.compare_exchange(mark, 0, SeqCst, Relaxed);
        taken.is_ok()
    }

    /// Records, before the watchdog flushes, that it flushes what this mark stands for.
    pub(crate) fn note_rescue(&self, mark: u64) {
        self.rescued.store(mark as u32, SeqCst);
    }

    /// Returns whether the watchdog has flushed what this mark stands for.
    #[inline(always)]
    pub(crate) fn is_rescued(&self, mark: u64) -> bool {
        self.rescued.load(Acquire) == mark as u32
    }

    /// Makes the socket one on which nothing was ever held.
    pub(crate) fn forget(&self) {
        self.since_ns.store(0, Relaxed);
        self.sending.store(0, Relaxed);
        self.memory.store(0, Relaxed);
        self.interval.store(0, Relaxed);
        self.stalled_ns.store(0, Relaxed);
        self.awaited.store(0, Relaxed);
        self.asked.store(0, Relaxed);
        self.forget_trace();
    }

    /// Discards the trace of a write that did not wait, or whose wait stays unknown.
    #[inline(always)]
    pub(crate) fn forget_trace(&self) {
        let trace = self.trace.swap(0, Relaxed);
        if trace != 0
            && let Some(traces) = orders::orders().and_then(|orders| orders.traces)
        {
            traces.forget(trace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_off_the_mark_it_met_and_no_other() {
        let holding = Holding::default();
        holding.mark(1000);
        let met = holding.settled_mark();
        assert!(holding.unmark(met));
        holding.mark(2000);
        let met = holding.settled_mark();
        // Another thread holds bytes while the write is being made, listed already or not.
        assert!(holding.remark(met));
        assert!(!holding.unmark(met));
        let met = holding.settled_mark();
        holding.mark(3000);
        assert!(!holding.unmark(met));
        assert_ne!(holding.mark_now(), 0);
    }

    #[test]
    fn nobody_settles_a_mark_under_which_a_thread_is_sending() {
        let holding = Holding::default();
        holding.begin_sending();
        holding.mark(1000);
        assert_eq!(holding.settled_mark(), 0);
        holding.end_sending();
        assert_eq!(holding.settled_mark(), 1000);
        holding.end_sending();
        holding.begin_sending();
        assert_eq!(holding.settled_mark(), 0, "the count stops at zero");
    }

    #[test]
    fn what_the_watchdog_has_flushed_stays_marked_and_is_not_held() {
        let holding = Holding::default();
        holding.mark(1000);
        holding.note_rescue(1000);
        assert_eq!((holding.mark_now(), holding.held_since()), (1000, 0));
        holding.mark(5000);
        assert_eq!((holding.mark_now(), holding.held_since()), (5000, 5000));
    }
}
