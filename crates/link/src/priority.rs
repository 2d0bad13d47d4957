//! Priorities for threads that must be on time on a machine with other work.

/// Gives the calling thread, and the threads that it starts later, the highest priority of an
/// ordinary thread (nice -20). Without the privilege nothing changes.
pub fn prefer() {
    let this = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(this), -20);
}

/// Lets the calling thread, and the threads that it starts later, run before ordinary ones: with
/// round-robin real-time scheduling, or with [`prefer`] if that is not allowed.
///
/// A kernel with lazy preemption lets an ordinary thread that wakes up wait for the next tick (4 ms
/// at 250 Hz), whatever its nice value. Without any privilege nothing changes; the relay counts and
/// reports packets that are late.
pub fn raise() {
    raise_to(1);
}

/// Does the same, before threads that were [raised](raise), for one that looks at them.
pub fn raise_above() {
    raise_to(2);
}

fn raise_to(priority: libc::c_int) {
    // SAFETY: all zeros is a valid `sched_param`.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the call affects this thread alone; the kernel only reads the parameters.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) };
    if refused != 0 {
        prefer();
    }
}
