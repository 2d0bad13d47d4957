//! The kernel's clocks.

use std::time::Duration;

/// Returns the time of a clock, in nanoseconds.
#[must_use]
pub fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: only written to; the clocks that are asked for exist everywhere.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Returns by how many nanoseconds the monotonic clock of this process is ahead of the kernel's own, which BPF programs
/// read: a time namespace may move it.
#[must_use]
pub fn moved_ns() -> i64 {
    let namespace = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).ok();
    // The file has the offsets of the namespace of this process's children.
    if namespace("time") != namespace("time_for_children") {
        return 0;
    }
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    monotonic_offset(&offsets).unwrap_or(0)
}

/// Returns the length of a tick of the kernel's clock (a jiffy): 1 to 10 ms.
#[must_use]
pub fn tick() -> Duration {
    let mut tick = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: only written to; the clock exists everywhere.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    Duration::from_nanos(u64::try_from(tick.tv_nsec).unwrap_or(0).max(1))
}

/// Returns how much processor time a process has used, all its threads together, in nanoseconds; `None` if it has ended.
#[must_use]
pub fn processor_ns(pid: u32) -> Option<u64> {
    let mut clock = 0;
    // SAFETY: only written to.
    let missing = unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) };
    let used = (missing == 0).then(|| clock_ns(clock))?;
    u64::try_from(used).ok().filter(|used| *used > 0)
}

/// `monotonic   86400   5`: seconds and nanoseconds.
fn monotonic_offset(offsets: &str) -> Option<i64> {
    let line = offsets
        .lines()
        .find_map(|line| line.strip_prefix("monotonic"))?;
    let mut numbers = line.split_whitespace().map(str::parse::<i64>);
    let (seconds, nanoseconds) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_uses_processor_time() {
        let own = || processor_ns(std::process::id()).expect("it runs");
        let before = own();
        while own() < before + 1_000_000 {}
        // More than the kernel's PID_MAX_LIMIT.
        assert_eq!(processor_ns((1 << 22) + 1), None);
    }

    #[test]
    fn offsets_of_a_time_namespace_are_read() {
        let offsets = "monotonic       86400         5\nboottime        -7   0\n";
        assert_eq!(monotonic_offset(offsets), Some(86_400_000_000_005));
        assert_eq!(
            monotonic_offset("monotonic  -1  500000000\n"),
            Some(-500_000_000)
        );
        assert_eq!(monotonic_offset(""), None);
    }
}
