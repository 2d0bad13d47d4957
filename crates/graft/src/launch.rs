//! Starts a program with the rule in it.
//!
//! The calling process becomes the program, so nothing stands between the program and its parent, its
//! signals and its terminal. A process of our own, the *keeper*, is made before: it puts the code into
//! the program when it is executed, and is its watchdog until it ends.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::Command;

use libc::pid_t;

use crate::layout::Shared;
use crate::object::Object;
use crate::plant::{self, Failed};
use crate::program::Program;
use crate::shared::{Mapping, Settings};
use crate::tracee::{Stop, Tracee};
use crate::watchdog::Watchdog;

/// Becomes the program, with the rule in it; returns only why it could not.
///
/// `ended` is called in the keeper when the program has ended, with what was counted and the
/// process. Only descriptors that the program does not inherit are still open then.
///
/// # Errors
/// [`Failed`] if nothing could be put into it (then it was not started), or the kernel's error if the
/// program cannot be executed.
pub fn become_program(
    mut command: Command,
    program: &Program,
    object: &Object,
    settings: &Settings,
    ended: impl FnOnce(&Shared, &OwnedFd),
) -> Failed {
    use std::os::unix::process::CommandExt;
    match keeper(program, object, settings, ended) {
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
    settings: &Settings,
    ended: impl FnOnce(&Shared, &OwnedFd),
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
                    if let Ok(process) = hold_of(target, tell) {
                        let kept = keep(target, &process, program, object, settings, ended);
                        if let Err(error) = kept {
                            eprintln!("tinygram run: the program runs as it is: {error}");
                        }
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

/// Takes hold of the process, and tells it so, or why not.
fn hold_of(target: pid_t, mut tell: File) -> io::Result<OwnedFd> {
    // SAFETY: no arguments.
    let own = unsafe { libc::setsid() };
    tell.write_all(&own.to_ne_bytes())?;
    let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;
    let held = seize(target, options).and_then(|()| pidfd(target));
    match &held {
        Ok(_) => tell.write_all(SEIZED.as_bytes())?,
        Err(error) => tell.write_all(error.to_string().as_bytes())?,
    }
    held
}

/// The keeper's life.
fn keep(
    target: pid_t,
    process: &OwnedFd,
    program: &Program,
    object: &Object,
    settings: &Settings,
    ended: impl FnOnce(&Shared, &OwnedFd),
) -> Result<(), Failed> {
    // Whoever reads what the program writes must see its end, not ours.
    let_go_of_what_is_inherited();
    let planted = until_exec(target).and_then(|tracee| {
        let Some(tracee) = tracee else {
            return Ok(None);
        };
        let planted = planted(&tracee, process, program, object, settings);
        let _ = Tracee::detach(target, 0);
        planted.map(Some)
    });
    if let Some(shared) = planted? {
        Watchdog::new(&shared, process, target as u32, settings.rules.watchdog_ns).run();
        ended(&shared, process);
    }
    Ok(())
}

/// Puts the rule into a program that stands before its first instruction.
fn planted(
    tracee: &Tracee,
    process: &OwnedFd,
    program: &Program,
    object: &Object,
    settings: &Settings,
) -> Result<Mapping, Failed> {
    let scratch = tracee.registers().map_err(|error| Failed::Kernel {
        doing: "reading registers",
        error,
    })?;
    let planted = plant::plant(tracee, scratch.rip, process, program, object)?;
    planted.set_up(settings, tracee.pid);
    plant::write_jumps(tracee, &planted.jumps)?;
    Ok(planted.mapping)
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

pub(crate) fn pidfd(pid: pid_t) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor or fails.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Closes what the program inherits, but for standard error.
pub(crate) fn let_go_of_what_is_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for fd in numbers.collect::<Vec<i32>>() {
        // SAFETY: asks for the flags of a descriptor, which may be closed already.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
        if fd > 2 && flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            // SAFETY: nothing in the keeper uses what the program inherits.
            unsafe { libc::close(fd) };
        }
    }
    let nothing = CString::from(c"/dev/null");
    // SAFETY: replaces descriptors that nothing in the keeper uses from here on.
    unsafe {
        let null = libc::open(nothing.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
    }
}

pub(crate) fn pipe() -> io::Result<(OwnedFd, File)> {
    let mut ends = [0; 2];
    // SAFETY: writes two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: nobody else has them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

pub(crate) fn reap(child: pid_t) {
    let mut status = 0;
    // SAFETY: writes into a local.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// What the keeper says when it traces.
const SEIZED: &str = "seized";
