//! The witness: a process that shows the statistics, beside the program instead of above it.
//!
//! The process that was started becomes the program, so signals, terminal, parent and end are the
//! program's own. The witness, which has no parent that waits for it, waits for the program's end.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::thread;

use rustix::process::{PidfdFlags, getpid, pidfd_open};
use rustix::thread::futex;
use serde::Serialize;
use tinygram_preload::page::{EXITED, NEVER_RAN, Page, RUNS};

use crate::outcome::Failure;

/// How the program ended, as far as it can be known.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct End {
    #[serde(rename = "exit_code")]
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

/// Forks the witness. It calls `begin` at once, and `show` when this process, whatever it has
/// become, has ended; with `None` if the program never started.
pub(crate) fn stand_by(
    page: &'static Page,
    begin: impl FnOnce(),
    show: impl FnOnce(Option<End>),
) -> Result<(), Failure> {
    let failed = |error| Failure::Io {
        doing: "starting the process that shows the statistics".into(),
        error,
    };
    page.main.store(std::process::id(), SeqCst);
    let program =
        pidfd_open(getpid(), PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    // SAFETY: this process has one thread; the children are not the program's.
    unsafe {
        match libc::fork() {
            -1 => return Err(failed(std::io::Error::last_os_error())),
            0 => {
                // Leave the terminal's and the group's reach before the program starts.
                libc::setsid();
                // The witness must not be the program's child: the program must not find a child
                // that it did not make.
                if libc::fork() != 0 {
                    libc::_exit(0);
                }
            }
            child => {
                libc::waitpid(child, std::ptr::null_mut(), 0);
                return Ok(());
            }
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(nothing, libc::STDIN_FILENO);
        libc::dup2(nothing, libc::STDOUT_FILENO);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
    begin();
    show(wait(page, program));
    page.shown.store(1, SeqCst);
    wake(&[&page.shown]);
    std::process::exit(0);
}

/// Dismisses the witness: the program never started, so there is nothing to show.
pub(crate) fn dismiss(page: &Page) {
    page.ended.store(NEVER_RAN, SeqCst);
    wake(&[&page.ended]);
}

/// Waits until the library reports that the program ends, or the kernel reports that it has ended.
fn wait(page: &'static Page, program: OwnedFd) -> Option<End> {
    let (tell, told) = mpsc::channel();
    let from_the_kernel = tell.clone();
    thread::spawn(move || {
        let mut asked = libc::pollfd {
            fd: program.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry of our own.
        while unsafe { libc::poll(&raw mut asked, 1, -1) } < 0 {}
        let _ = from_the_kernel.send(Some(end_of(&program)));
    });
    thread::spawn(move || {
        while page.ended.load(SeqCst) == RUNS {
            let _ = futex::wait(&page.ended, futex::Flags::empty(), RUNS, None);
        }
        let ended = page.ended.load(SeqCst);
        let code = (ended & EXITED != 0).then_some((ended & 0xff) as i32);
        let end = (ended != NEVER_RAN).then_some(End { code, signal: None });
        let _ = tell.send(end);
    });
    told.recv().ok().flatten()
}

/// Returns how a process ended that was not our child (`PIDFD_GET_INFO`, Linux 6.15). The kernel
/// knows it once the parent has waited for the process, which gets some time to do so.
pub(super) fn end_of(program: &OwnedFd) -> End {
    for _ in 0..100 {
        let mut info = Info {
            mask: INFO_EXIT,
            ..Info::default()
        };
        // SAFETY: the kernel writes a structure of that size.
        let told = unsafe { libc::ioctl(program.as_raw_fd(), GET_INFO as _, &raw mut info) } == 0;
        if told && info.mask & INFO_EXIT != 0 {
            let status = info.exit_code;
            let by_signal = libc::WIFSIGNALED(status);
            return End {
                code: (!by_signal).then(|| libc::WEXITSTATUS(status)),
                signal: by_signal.then(|| libc::WTERMSIG(status)),
            };
        }
        thread::sleep(std::time::Duration::from_millis(5));
    }
    End::default()
}

/// `struct pidfd_info` (include/uapi/linux/pidfd.h).
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

const INFO_EXIT: u64 = 1 << 3;
/// `_IOWR(0xFF, 11, struct pidfd_info)`, whose first version has 64 bytes.
const GET_INFO: libc::c_ulong = 0xC040_FF0B;
const _: () = assert!(size_of::<Info>() == 64);

/// Wakes the threads that wait for a word to change.
fn wake(words: &[&AtomicU32]) {
    for word in words {
        let _ = futex::wake(word, futex::Flags::empty(), u32::MAX >> 1);
    }
}
