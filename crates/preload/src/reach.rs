//! How the watchdog accesses the program's sockets: from a descriptor table of its own.
//!
//! As soon as two threads share a descriptor table, the kernel counts references to descriptors in
//! every call, which costs some 15 ns per call. So the watchdog leaves the program's table and
//! borrows a socket for the instant of a rescue (`pidfd_getfd`, which needs no privilege within one
//! process). Also, the files that it opens take no numbers that the program may expect to be free.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{c_int, c_long};

use crate::errno;
use crate::kernel;

/// The descriptor table that the watchdog uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The program's own.
    Shared,
    /// A table of its own, in which this descriptor stands for the process.
    Apart(c_int),
}

/// The result of using a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Used {
    Done,
    /// The descriptor is closed.
    Gone,
    /// The process's first thread has ended, and with it the access to its table.
    Unreachable,
}

impl Reach {
    /// Leaves the table of the calling thread if the program's sockets stay accessible; `None` if
    /// that fails after all (for example for lack of memory).
    pub(crate) fn begin() -> Option<Self> {
        if !may_leave() {
            return Some(Self::Shared);
        }
        let every = (0, c_int::MAX as c_long);
        if kernel::call(
            libc::SYS_close_range,
            [every.0, every.1, CLOSE_RANGE_UNSHARE],
        ) < 0
        {
            return Some(Self::Shared);
        }
        // SAFETY: no argument, cannot fail.
        let process = unsafe { libc::getpid() };
        let pidfd = kernel::call(libc::SYS_pidfd_open, [process.into(), 0, 0]);
        (pidfd >= 0).then_some(Self::Apart(pidfd as c_int))
    }

    /// Uses the program's descriptor `fd`.
    pub(crate) fn with(self, fd: c_int, usage: impl FnOnce(c_int)) -> Used {
        let Self::Apart(process) = self else {
            usage(fd);
            return Used::Done;
        };
        let arguments = [process.into(), fd.into(), 0];
        let borrowed = kernel::call(libc::SYS_pidfd_getfd, arguments) as c_int;
        if borrowed >= 0 {
            usage(borrowed);
            // SAFETY: the copy is the library's own.
            unsafe { kernel::close(borrowed) };
            Used::Done
        } else if errno::get() == libc::EBADF && first_thread_lives() {
            Used::Gone
        } else {
            Used::Unreachable
        }
    }
}

/// Returns whether this kernel has the necessary calls and nothing forbids them. The two test calls
/// make no descriptor. Under a filter, which might kill the process for them, they are not made.
fn may_leave() -> bool {
    let exists = |number, answer| kernel::call(number, [-1, -1, 0]) < 0 && errno::get() == answer;
    !kernel::is_filtered()
        && !must_share()
        && exists(libc::SYS_pidfd_open, libc::EINVAL)
        && exists(libc::SYS_pidfd_getfd, libc::EBADF)
}

/// Records that the first thread is about to end.
pub(crate) fn share_from_now_on() {
    MUST_SHARE.store(true, Relaxed);
}

/// Returns whether it has ended or is about to.
pub(crate) fn must_share() -> bool {
    MUST_SHARE.load(Relaxed)
}

/// Returns whether the calling thread is the last one, the first included. (The kernel lists the
/// first thread until the process ends.)
pub(crate) fn is_last_thread() -> bool {
    if !must_share() {
        return false;
    }
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: filled by a call that succeeded. A folder has a link for itself and one for its
    // parent, and this folder has one for each thread.
    unsafe {
        libc::stat(c"/proc/self/task".as_ptr(), status.as_mut_ptr()) == 0
            && status.assume_init().st_nlink <= 2 + 2
    }
}

static MUST_SHARE: AtomicBool = AtomicBool::new(false);

/// Returns whether the first thread lives, through which the kernel finds a process's table; others
/// may outlive it.
fn first_thread_lives() -> bool {
    let mut state = [0_u8; 512];
    let text = crate::contention::contents(b"/proc/self/stat\0", &mut state)
        .and_then(|length| state.get(..length));
    // The letter of the state follows the name, which is in parentheses and may contain any
    // character.
    text.and_then(|text| {
        let end = text.iter().rposition(|&byte| byte == b')')?;
        text.get(end + 2)
    })
    .is_some_and(|&letter| letter != b'Z' && letter != b'X')
}

const CLOSE_RANGE_UNSHARE: c_long = libc::CLOSE_RANGE_UNSHARE as c_long;
