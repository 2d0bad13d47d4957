//! Waiting until the kernel has something to say.

use std::os::fd::AsRawFd;
use std::time::Duration;

/// Waits until the descriptor can be read, for at most `patience`. A signal ends the wait, too.
pub fn wait(descriptor: &impl AsRawFd, patience: Duration) {
    let mut polled = libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let patience_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut polled, 1, patience_ms) };
}
