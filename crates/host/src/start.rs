//! When a process began, which tells it from another with the same process ID.

use procfs::process::Process;

/// Returns when a process began, in the kernel's ticks since the machine did; `None` if it has ended.
#[must_use]
pub fn started(pid: u32) -> Option<u64> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    process.stat().ok().map(|stat| stat.starttime)
}

/// Returns whether a process has ended; it may still wait for its parent to notice.
#[must_use]
pub fn has_ended(pid: u32) -> bool {
    let stat = i32::try_from(pid)
        .ok()
        .and_then(|pid| Process::new(pid).ok()?.stat().ok());
    stat.is_none_or(|stat| matches!(stat.state, 'Z' | 'X'))
}
