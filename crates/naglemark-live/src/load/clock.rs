//! The monotonic clock, in the engine's time.

use rustix::time::{ClockId, clock_gettime};
use tinygram_engine::Instant;
use tinygram_naglemark::Duration;

/// Returns the time of the monotonic clock.
pub(super) fn now() -> Instant {
    let time = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Sleeps until the monotonic clock shows this.
pub(super) fn sleep_until(at: Instant) {
    loop {
        let left = at.since(now());
        if left == Duration::ZERO {
            return;
        }
        std::thread::sleep(std::time::Duration::from_nanos(left.as_nanos()));
    }
}
