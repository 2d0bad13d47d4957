//! Which processor a thread runs on.
//!
//! Two ends on one machine stand for two hosts, and each of those has a processor of its own. Left to
//! itself the scheduler now and then puts a writer and the reader it wakes on one processor, where
//! they take turns instead of running side by side; which segments leave together then changes.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns two different processors that this thread may use, or none where it has only one.
#[must_use]
pub fn two() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(None).ok()?;
    let mut own = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor));
    Some([own.next()?, own.next()?])
}

/// Keeps the calling thread, and those it starts from now on, to a processor. Where that is not
/// allowed nothing changes.
pub fn keep_to(processor: usize) {
    let mut only = CpuSet::new();
    only.set(processor);
    let _ = sched_setaffinity(None, &only);
}

/// Keeps the calling thread to a processor for as long as `work` takes.
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
