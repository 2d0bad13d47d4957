//! Follows all threads of a process from system call to system call, for a while.

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use libc::{pid_t, user_regs_struct};

use crate::threads::Threads;
use crate::tracee::{self, Stop, Tracee};

/// What is asked of the kernel while threads are followed.
const OPTIONS: i32 =
    libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;

/// Lets the threads go on, and gives each of their system calls to `look` before it is made, with the
/// thread and its registers: RIP is what follows the SYSCALL. Threads that they make are followed, too;
/// children are not. Ends when `look` says so, when the time is over or when the process executes another
/// program or ends; then nothing is traced any more.
///
/// # Errors
/// The kernel's.
pub(crate) fn follow(
    threads: Threads,
    limit: Duration,
    look: impl FnMut(pid_t, &user_regs_struct) -> ControlFlow<()>,
) -> io::Result<()> {
    let heard = hear_of_stops();
    let mut following = Following {
        running: HashSet::new(),
        look,
    };
    for (tid, signal) in threads.taken_over() {
        Tracee::set_options(tid, OPTIONS)?;
        Tracee::to_next_call_of(tid, signal)?;
        following.running.insert(tid);
    }
    let result = following.until(deadline(limit));
    following.let_go();
    drop(heard);
    result
}

#[allow(
    clippy::disallowed_methods,
    reason = "a program of the real world is followed"
)]
fn deadline(limit: Duration) -> Instant {
    Instant::now() + limit
}

struct Following<F> {
    /// The threads that are traced and were let go on.
    running: HashSet<pid_t>,
    look: F,
}

impl<F: FnMut(pid_t, &user_regs_struct) -> ControlFlow<()>> Following<F> {
    /// Lets the threads run from call to call.
    #[allow(
        clippy::disallowed_methods,
        reason = "a program of the real world is followed"
    )]
    fn until(&mut self, end: Instant) -> io::Result<()> {
        while Instant::now() < end && !self.running.is_empty() {
            let Some((tid, stop)) = tracee::any_stopped()? else {
                wait_for_a_stop();
                continue;
            };
            self.running.insert(tid);
            let signal = match stop {
                Stop::Ended => {
                    self.running.remove(&tid);
                    continue;
                }
                Stop::Event(libc::PTRACE_EVENT_EXEC) => {
                    self.running.clear();
                    let _ = Tracee::detach(tid, 0);
                    return Ok(());
                }
                // Stopped by a signal such as SIGSTOP: it stays so until it is continued.
                Stop::Group => {
                    let _ = Tracee::listen(tid);
                    continue;
                }
                Stop::Call => {
                    if self.enters(tid)?.is_break() {
                        self.running.remove(&tid);
                        let _ = Tracee::detach(tid, 0);
                        return Ok(());
                    }
                    0
                }
                Stop::Signal(signal) => signal,
                Stop::Event(_) => {
                    self.running.extend(made(tid, stop));
                    0
                }
            };
            // A thread may be killed where it stands.
            let _ = Tracee::to_next_call_of(tid, signal);
        }
        Ok(())
    }

    /// Has a call looked at that is about to be made.
    fn enters(&mut self, tid: pid_t) -> io::Result<ControlFlow<()>> {
        let registers = match tracee::registers_of(tid) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                return Ok(ControlFlow::Continue(()));
            }
            other => other?,
        };
        // So says the kernel before a call; after it the result is here.
        if registers.rax != NOT_MADE_YET {
            return Ok(ControlFlow::Continue(()));
        }
        Ok((self.look)(tid, &registers))
    }

    /// Stops each thread once more, and lets it go for good at once.
    fn let_go(mut self) {
        for tid in &self.running {
            let _ = Tracee::interrupt(*tid);
        }
        while !self.running.is_empty() {
            match tracee::any_stopped() {
                Ok(Some((tid, stop))) => {
                    let signal = match stop {
                        Stop::Signal(signal) => signal,
                        _ => 0,
                    };
                    // What it has just made is traced, too, and may not have been heard of. If that one was let go
                    // already, nothing is traced at last, and the kernel says so.
                    self.running.extend(made(tid, stop));
                    if stop != Stop::Ended {
                        let _ = Tracee::detach(tid, signal);
                    }
                    self.running.remove(&tid);
                }
                // A thread that waits for a child of vfork stops after it.
                Ok(None) => wait_for_a_stop(),
                Err(_) => return,
            }
        }
    }
}

/// Returns the thread that this one has made, if it stopped for that.
fn made(tid: pid_t, stop: Stop) -> Option<pid_t> {
    let is_made = stop == Stop::Event(libc::PTRACE_EVENT_CLONE);
    is_made.then(|| Tracee::message(tid).ok()).flatten()
}

/// Keeps SIGCHLD for [`wait_for_a_stop`] until it is dropped.
struct Heard(libc::sigset_t);

fn hear_of_stops() -> Heard {
    // SAFETY: local sets of signals; the keeper has no handler for this one, and no child.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut before = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const *child_set(), &raw mut before);
        Heard(before)
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut());
        }
    }
}

fn child_set() -> Box<libc::sigset_t> {
    // SAFETY: initialised by the next call.
    let mut set: Box<libc::sigset_t> = Box::new(unsafe { std::mem::zeroed() });
    // SAFETY: a local set.
    unsafe {
        libc::sigemptyset(&raw mut *set);
        libc::sigaddset(&raw mut *set, libc::SIGCHLD);
    }
    set
}

/// Waits until a thread may have stopped, for a millisecond at most.
fn wait_for_a_stop() {
    let timeout = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    // SAFETY: a local set and a local time.
    unsafe {
        libc::sigtimedwait(
            &raw const *child_set(),
            std::ptr::null_mut(),
            &raw const timeout,
        );
    }
}

/// What RAX holds before a call is made (`-ENOSYS`).
const NOT_MADE_YET: u64 = (-(libc::ENOSYS as i64)).cast_unsigned();
