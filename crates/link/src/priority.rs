//! Threads that must be on time on a machine with other work.

/// Gives the calling thread, and those it starts from now on, the most of the processor that an
/// ordinary thread can have (nice -20). Without the privilege nothing changes.
pub fn prefer() {
    let this = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(this), -20);
}

/// Lets the calling thread, and those it starts from now on, go before ordinary ones: round-robin
/// real-time scheduling, or [`prefer`] where that is not allowed.
///
/// A kernel with lazy preemption lets an ordinary thread that wakes up wait for the next tick, 4 ms
/// at 250 Hz, whatever its niceness. Without any privilege nothing changes: what is late then is
/// counted, not hidden.
pub fn raise() {
    // SAFETY: all zeros is a valid `sched_param`.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 1;
    // SAFETY: concerns this thread alone; the kernel reads the parameters.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) };
    if refused != 0 {
        prefer();
    }
}
