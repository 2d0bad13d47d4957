//! Chooses the processor that a thread runs on.
//!
//! Two ends on one machine stand for two hosts, and each host has a processor of its own. Without
//! this module the scheduler sometimes puts a writer and the reader that it wakes on one processor.
//! There they take turns instead of running side by side, and this changes which segments leave
//! together.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns two different processors that this thread may use, or `None` if it has only one.
#[must_use]
pub fn two() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut own = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor));
    Some([own.next()?, own.next()?])
}

/// Binds the calling thread, and the threads that it starts later, to a processor. If that is not
/// allowed, nothing changes.
pub fn keep_to(processor: usize) {
    let mut only = CpuSet::new();
    only.set(processor);
    let _ = sched_setaffinity(None, &only);
}

/// Runs `work` with the calling thread bound to a processor.
pub fn on<R>(processor: usize, work: impl FnOnce() -> R) -> R {
    let before = sched_getaffinity(None);
    keep_to(processor);
    let result = work();
    if let Ok(before) = before {
        let _ = sched_setaffinity(None, &before);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_kept_to_a_processor_while_it_works_and_may_use_all_again_then() {
        let Some([_, second]) = two() else {
            eprintln!("skipped: this machine has one processor");
            return;
        };
        let during = on(second, || sched_getaffinity(None).expect("readable"));
        assert_eq!((during.count(), during.is_set(second)), (1, true));
        assert!(sched_getaffinity(None).expect("readable").count() >= 2);
    }
}
