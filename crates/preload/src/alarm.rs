//! The timer that wakes the watchdog. The kernel keeps it, and the program's own threads push it
//! forward while they hold and flush.
//!
//! A timer that fires once a millisecond beside a busy program costs more than its interrupt: on an
//! idle machine each answer took 8 us longer, perhaps because of how the other processor sleeps. So a
//! thread that holds bytes moves the timer ahead, at most twice in a deadline, and the timer fires
//! only after a program has held nothing for as long, or has held something for too long.
//!
//! It is a timer of timer_create(2) and no `timerfd`, because it needs no descriptor that the
//! program could close or count. It sends its signal to the watchdog's thread alone
//! (`SIGEV_THREAD_ID`), where it is blocked and waited for, so no handler of the program's sees it.
//! The signal is the one that the C library uses in the same way for its own timers.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use libc::{c_int, c_long};

use crate::{clock, errno, kernel};

/// The watchdog's timer, and the thread that it wakes. All zeros is none.
#[repr(C)]
pub(crate) struct Alarm {
    /// The kernel's number of the timer, plus one; 0 if there is no timer.
    timer: AtomicU64,
    process: AtomicU32,
    thread: AtomicU32,
}

impl Alarm {
    /// Makes a timer that wakes the calling thread; returns whether it could be made. Where a
    /// filter of system calls is in force, which might kill the process for the call, none is made.
    pub(crate) fn make(&self) -> bool {
        if kernel::is_filtered() {
            return false;
        }
        // SAFETY: plain calls on locals; all zeros is a valid event, whose fields are then set.
        let timer = unsafe {
            let blocked = kernel::syscall()(
                libc::SYS_rt_sigprocmask,
                c_long::from(libc::SIG_BLOCK),
                &raw const SIGNALS,
                std::ptr::null_mut::<u64>(),
                size_of::<u64>(),
            );
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = kernel::thread_id();
            let mut timer: c_int = -1;
            let made = kernel::syscall()(
                libc::SYS_timer_create,
                c_long::from(libc::CLOCK_MONOTONIC),
                &raw mut event,
                &raw mut timer,
            );
            (blocked == 0 && made == 0).then_some(timer)
        };
        let Some(timer) = timer else { return false };
        // SAFETY: no argument, cannot fail.
        let process = unsafe { libc::getpid() };
        let thread = kernel::thread_id();
        self.process.store(process as u32, Relaxed);
        self.thread.store(thread as u32, Relaxed);
        self.timer.store(timer as u64 + 1, Relaxed);
        true
    }

    /// Returns whether there is a timer.
    pub(crate) fn is_made(&self) -> bool {
        self.timer.load(Relaxed) != 0
    }

    /// Lets the timer fire at this time of the monotonic clock, and not before. If that fails (in a
    /// child of `vfork`, which has this memory and no timer), the watchdog is woken at once.
    pub(crate) fn set(&self, at_ns: u64) {
        let time = libc::itimerspec {
            it_interval: clock::timespec(0),
            it_value: clock::timespec(at_ns.max(1)),
        };
        let timer = self.timer.load(Relaxed).wrapping_sub(1) as c_long;
        errno::kept(|| {
            // SAFETY: the kernel reads one local.
            let failed = unsafe {
                kernel::syscall()(
                    libc::SYS_timer_settime,
                    timer,
                    c_long::from(libc::TIMER_ABSTIME),
                    &raw const time,
                    std::ptr::null_mut::<libc::itimerspec>(),
                )
            };
            if failed != 0 {
                self.ring();
            }
        });
    }

    /// Wakes the watchdog now.
    pub(crate) fn ring(&self) {
        let thread = self.thread.load(Relaxed);
        if thread != 0 {
            let process = self.process.load(Relaxed);
            kernel::call(
                libc::SYS_tgkill,
                [process.into(), thread.into(), SIGNAL.into()],
            );
        }
    }

    /// Waits, in the watchdog's thread, until the timer fires or it is woken, or for this time.
    pub(crate) fn wait(timeout_ns: Option<u64>) {
        let timeout = timeout_ns.map(clock::timespec);
        let timeout: *const libc::timespec = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the pointers outlive the call.
        unsafe {
            kernel::syscall()(
                libc::SYS_rt_sigtimedwait,
                &raw const SIGNALS,
                std::ptr::null_mut::<libc::siginfo_t>(),
                timeout,
                size_of::<u64>(),
            );
        }
    }

    /// Deletes the timer.
    pub(crate) fn delete(&self) {
        let timer = self.timer.swap(0, Relaxed);
        self.thread.store(0, Relaxed);
        if timer != 0 {
            kernel::call(libc::SYS_timer_delete, [timer as c_long - 1, 0, 0]);
        }
    }
}

/// The first signal after the standard ones. The C library keeps it for itself (`SIGTIMER`,
/// `SIGCANCEL`) and always sends it to a single thread.
const SIGNAL: c_int = 32;
/// The set of that signal, as the kernel takes it.
static SIGNALS: u64 = 1 << (SIGNAL - 1);
