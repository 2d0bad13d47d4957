//! The kernel's clocks.

/// Returns the time of a clock, in nanoseconds.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: only written to; the clocks that are asked for exist everywhere.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
