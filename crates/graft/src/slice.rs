//! How soon a thread gets a processor when it wakes.

use libc::{SYS_sched_getattr, SYS_sched_setattr, sched_attr};

/// Asks the scheduler for short turns of the calling thread: since Linux 6.12 a thread that wakes takes the processor
/// from one whose turns are longer. It gets no more of the processor than before, and needs no privilege. Older kernels
/// ignore the number; where it is refused, the thread waits as every other does.
///
/// Its timers fire when they are due, and not up to 50 us later as others' do.
pub(crate) fn shorten() {
    // SAFETY: a number, no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize, 0_usize, 0_usize, 0_usize) };
    let size = size_of::<sched_attr>() as u32;
    // SAFETY: all zeros is a valid one.
    let mut own: sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes at most that many octets.
    let known = unsafe { libc::syscall(SYS_sched_getattr, 0, &raw mut own, size, 0) };
    let is_ordinary = matches!(
        own.sched_policy as i32,
        libc::SCHED_OTHER | libc::SCHED_BATCH
    );
    if known != 0 || !is_ordinary {
        return;
    }
    own.sched_runtime = TURN_NS;
    // SAFETY: the kernel reads as many octets as the first field says.
    unsafe { libc::syscall(SYS_sched_setattr, 0, &raw const own, 0) };
}

/// The shortest turn that the kernel gives.
const TURN_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_turn_changes() {
        let own = || {
            // SAFETY: all zeros is a valid one.
            let mut own: sched_attr = unsafe { std::mem::zeroed() };
            let size = size_of::<sched_attr>() as u32;
            // SAFETY: the kernel writes at most that many octets.
            let known = unsafe { libc::syscall(SYS_sched_getattr, 0, &raw mut own, size, 0) };
            assert_eq!(known, 0);
            own
        };
        let before = own();
        shorten();
        let after = own();
        assert_eq!(
            (before.sched_policy, before.sched_nice, before.sched_flags),
            (after.sched_policy, after.sched_nice, after.sched_flags)
        );
        if before.sched_runtime == 0 {
            eprintln!("skipped: this kernel has one turn for all");
        } else {
            assert_eq!(after.sched_runtime, TURN_NS);
        }
    }
}
