//! Starts a program with the rule in it.
//!
//! The calling process becomes the program, so nothing stands between the program and its parent, its
//! signals and its terminal. A process of our own, the *keeper*, is made before: it puts the code into
//! the program when it is executed, and is its watchdog until it ends.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;

use libc::pid_t;
use tinygram_coalesce::Rules;

use crate::layout::Shared;
use crate::object::Object;
use crate::plant::{self, Failed};
use crate::program::Program;
use crate::tracee::{Stop, Tracee};
use crate::watchdog::{Watchdog, has_ended};

/// Becomes the program, with the rule in it; returns only why it could not.
///
/// `ended` is called in the keeper when the program has ended, with what was counted.
///
/// # Errors
/// [`Failed`] if nothing could be put into it (then it was not started), or the kernel's error if the
/// program cannot be executed.
pub fn become_program(
    mut command: Command,
    program: &Program,
    object: &Object,
    rules: &Rules,
    ended: impl FnOnce(&Shared),
) -> Failed {
    use std::os::unix::process::CommandExt;
    match keeper(program, object, rules, ended) {
        Ok(()) => Failed::Kernel {
            doing: "executing it",
            error: command.exec(),
        },
        Err(error) => error,
    }
}

/// Makes the keeper and waits until it stands ready.
fn keeper(
    program: &Program,
    object: &Object,
    rules: &Rules,
    ended: impl FnOnce(&Shared),
) -> Result<(), Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    let (ready, mut tell) = pipe().map_err(kernel("making a pipe"))?;
    // SAFETY: returns our own number.
    let target = unsafe { libc::getpid() };
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(Failed::Kernel {
            doing: "making a process",
            error: io::Error::last_os_error(),
        }),
        0 => {
            drop(ready);
            // Twice, so that the program has no child that it does not know.
            // SAFETY: as above.
            match unsafe { libc::fork() } {
                0 => {
                    let result = keep(target, &mut tell, program, object, rules, ended);
                    if let Err(error) = result {
                        let _ = tell.write_all(error.to_string().as_bytes());
                    }
                }
                -1 => drop(tell.write_all(b"making a process failed")),
                _ => {}
            }
            // SAFETY: ends this process without the parent's exit handlers.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop(tell);
            reap(child);
            stand_ready(File::from(ready))
        }
    }
}

/// Lets the keeper trace us, and waits until it does.
fn stand_ready(mut ready: File) -> Result<(), Failed> {
    let refused = |text: &str| Failed::Kernel {
        doing: "tracing it",
        error: io::Error::other(text.to_owned()),
    };
    let mut number = [0; 4];
    if ready.read_exact(&mut number).is_err() {
        return Err(refused("the keeper ended"));
    }
    // Where Yama restricts tracing to ancestors, a process may name one other.
    let keeper = i32::from_ne_bytes(number);
    // SAFETY: a number, no memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, keeper as libc::c_ulong, 0, 0, 0) };
    let mut rest = String::new();
    ready
        .read_to_string(&mut rest)
        .map_err(|error| Failed::Kernel {
            doing: "tracing it",
            error,
        })?;
    if rest == SEIZED {
        Ok(())
    } else {
        Err(refused(&rest))
    }
}

/// The keeper's life.
fn keep(
    target: pid_t,
    tell: &mut File,
    program: &Program,
    object: &Object,
    rules: &Rules,
    ended: impl FnOnce(&Shared),
) -> Result<(), Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    // SAFETY: no arguments.
    let own = unsafe { libc::setsid() };
    tell.write_all(&own.to_ne_bytes())
        .map_err(kernel("standing ready"))?;
    let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;
    seize(target, options).map_err(kernel("tracing it"))?;
    let process = pidfd(target).map_err(kernel("tracing it"))?;
    tell.write_all(SEIZED.as_bytes())
        .map_err(kernel("standing ready"))?;
    // Whoever reads what the program writes must see its end, not ours.
    let_go_of_everything_but(&process);
    let planted = until_exec(target).and_then(|tracee| {
        let Some(tracee) = tracee else {
            return Ok(None);
        };
        let planted = plant::plant(&tracee, &process, program, object, rules);
        let _ = Tracee::detach(target, 0);
        planted.map(Some)
    });
    let shared = match planted {
        Ok(Some(shared)) => shared,
        Ok(None) => return Ok(()),
        // The program runs as it is.
        Err(error) => return Err(error),
    };
    Watchdog::new(&shared, &process, target as u32, rules.watchdog_ns).run();
    debug_assert!(has_ended(&process));
    ended(&shared);
    Ok(())
}

/// Seizes the process; it may not have named us yet (see [`stand_ready`]).
fn seize(target: pid_t, options: i32) -> io::Result<()> {
    for _ in 0..100 {
        match Tracee::seize(target, options) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            result => return result,
        }
    }
    Tracee::seize(target, options)
}

/// Waits until the process has executed the program and stands before its first instruction; `None`
/// if it ended instead.
fn until_exec(target: pid_t) -> Result<Option<Tracee>, Failed> {
    let kernel = |error| Failed::Kernel {
        doing: "waiting for its start",
        error,
    };
    let mut executed = None;
    loop {
        match Tracee::wait(target).map_err(kernel)? {
            Stop::Ended => return Ok(None),
            Stop::Event(libc::PTRACE_EVENT_EXEC) => {
                let tracee = Tracee::stopped(target).map_err(kernel)?;
                // Out of the call of execve, which would set the result's register.
                tracee.to_next_call().map_err(kernel)?;
                executed = Some(tracee);
            }
            Stop::Call if executed.is_some() => return Ok(executed),
            Stop::Signal(signal) => Tracee::go_on(target, signal).map_err(kernel)?,
            Stop::Call | Stop::Event(_) => Tracee::go_on(target, 0).map_err(kernel)?,
        }
    }
}

fn pidfd(pid: pid_t) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor or fails.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Closes everything but one descriptor and standard error.
fn let_go_of_everything_but(kept: &OwnedFd) {
    let kept = kept.as_raw_fd() as u32;
    let nothing = CString::from(c"/dev/null");
    // SAFETY: closes descriptors that nothing in the keeper uses from here on.
    unsafe {
        let null = libc::open(nothing.as_ptr(), libc::O_RDWR);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        libc::syscall(libc::SYS_close_range, 3, kept - 1, 0);
        libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0);
    }
}

fn pipe() -> io::Result<(OwnedFd, File)> {
    let mut ends = [0; 2];
    // SAFETY: writes two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: nobody else has them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

fn reap(child: pid_t) {
    let mut status = 0;
    // SAFETY: writes into a local.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// What the keeper says when it traces.
const SEIZED: &str = "seized";
