//! When a process began, which tells it from another with the same process ID.

use procfs::process::Process;

/// Returns when a process began, in the kernel's ticks since the machine did; `None` if it has ended.
pub(crate) fn started(pid: u32) -> Option<u64> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    process.stat().ok().map(|stat| stat.starttime)
}
