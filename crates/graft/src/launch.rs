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
use crate::plant::{self, Failed, Planted};
use crate::program::Program;
use crate::refusal;
use crate::shared::Settings;
use crate::threads::Threads;
use crate::tracee::{Stop, Tracee, number_in_proc};
use crate::verify::{self, Verified};
use crate::watchdog::Watchdog;

/// What is put into a program when it starts.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The program's file.
    pub program: &'a Program,
    /// The code.
    pub object: &'a Object,
    /// The rules.
    pub settings: &'a Settings,
    /// Whether the calls of the first second are compared with the places that are known.
    pub is_verified: bool,
}

/// Who is told of a program that was started, in the keeper. Only descriptors that the program does not
/// inherit are open then.
pub trait Listener {
    /// Hears that the first second is over, in which the program's calls were looked at; `pid` is its number in `/proc`.
    fn verified(&mut self, verified: &Verified, pid: u32);
    /// Hears that it has ended: what was counted, and the process.
    fn ended(&mut self, shared: &Shared, process: &OwnedFd);
}

/// A process that becomes the program.
#[derive(Clone, Copy, Debug)]
struct Target {
    pid: pid_t,
    /// Its number in `/proc`.
    in_proc: pid_t,
}

/// Becomes the program, with the rule in it; returns only why it could not.
///
/// # Errors
/// [`Failed`] if nothing could be put into it (then it was not started), or the kernel's error if the
/// program cannot be executed.
pub fn become_program(mut command: Command, start: Start<'_>, listener: impl Listener) -> Failed {
    use std::os::unix::process::CommandExt;
    match keeper(start, listener) {
        Ok(()) => Failed::Kernel {
            doing: "executing it",
            error: command.exec(),
        },
        Err(error) => error,
    }
}

/// Makes the keeper and waits until it stands ready.
fn keeper(start: Start<'_>, listener: impl Listener) -> Result<(), Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    let (ready, mut tell) = pipe().map_err(kernel("making a pipe"))?;
    let target = Target {
        // SAFETY: returns our own number.
        pid: unsafe { libc::getpid() },
        in_proc: number_in_proc().map_err(kernel("finding itself in /proc"))?,
    };
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
                    if let Ok(process) = hold_of(target.pid, tell) {
                        let kept = keep(target, &process, start, listener);
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
    let refused = |text: &str| Failed::Untraceable(refusal::of_this_process(text));
    let mut number = [0; 4];
    if ready.read_exact(&mut number).is_err() {
        return Err(refused("the process that was to do so ended"));
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

/// Lives the keeper's life.
fn keep(
    target: Target,
    process: &OwnedFd,
    start: Start<'_>,
    mut listener: impl Listener,
) -> Result<(), Failed> {
    // Whoever reads what the program writes must see its end, not ours.
    let_go_of_what_is_inherited();
    let Some(tracee) = until_exec(target)? else {
        return Ok(());
    };
    let planted = lying_ready(&tracee, target, process, start);
    let threads = Threads::only(target.pid, target.in_proc);
    let (planted, bias) = planted?;
    let program = start.program;
    let threads = if program.is_tried {
        plant::write_jumps(&tracee, &planted.jumps)?;
        Some(threads)
    } else {
        check_first(threads, target, program, bias, &planted)?;
        None
    };
    let bound_ns = start.settings.rules.watchdog_ns;
    let pid = target.in_proc as u32;
    let watchdog = Watchdog::new(&planted.mapping, process, pid, bound_ns);
    std::thread::scope(|scope| {
        scope.spawn(|| watchdog.run());
        if start.is_verified {
            let seen = threads
                .map_or_else(|| Threads::stop(target.in_proc), Ok)
                .and_then(|threads| verify::verify(threads, &planted, program, bias, process));
            match seen {
                Ok(verified) => listener.verified(&verified, pid),
                Err(error) => eprintln!("tinygram run: --verify: {error}"),
            }
        }
    });
    listener.ended(&planted.mapping, process);
    Ok(())
}

/// Puts what changes nothing yet into a program that stands before its first instruction; returns it, and
/// what is to be added to the file's addresses.
fn lying_ready(
    tracee: &Tracee,
    target: Target,
    process: &OwnedFd,
    start: Start<'_>,
) -> Result<(Planted, u64), Failed> {
    let registers = tracee.registers().map_err(|error| Failed::Kernel {
        doing: "reading registers",
        error,
    })?;
    let bias = plant::bias(target.in_proc, start.program)?;
    let (program, object) = (start.program, start.object);
    let planted = plant::plant(tracee, registers.rip, process, program, bias, object)?;
    planted.set_up(start.settings, target.in_proc);
    Ok((planted, bias))
}

/// Looks at the first calls of a program whose version was not tried, and writes the jumps if they are
/// like those of the versions that were.
fn check_first(
    threads: Threads,
    target: Target,
    program: &Program,
    bias: u64,
    planted: &Planted,
) -> Result<(), Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    if target.pid != target.in_proc {
        return Err(Failed::Unfit(
            "--try needs a /proc that is mounted in the program's own PID namespace",
        ));
    }
    verify::check_registers(threads, program, bias)
        .map_err(kernel("looking at its calls"))?
        .map_err(Failed::Unfit)?;
    plant::jump_in(target.pid, program, bias, planted).map(drop)
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
fn until_exec(target: Target) -> Result<Option<Tracee>, Failed> {
    let refused = |doing| move |error| Failed::Kernel { doing, error };
    let kernel = refused("waiting for its start");
    let no_memory = refused("opening its memory in /proc");
    let Target {
        pid: target,
        in_proc,
    } = target;
    let mut executed = None;
    loop {
        match Tracee::wait(target).map_err(kernel)? {
            Stop::Ended => return Ok(None),
            Stop::Event(libc::PTRACE_EVENT_EXEC) => {
                let tracee = Tracee::stopped(target, in_proc).map_err(no_memory)?;
                // Out of the call of execve, which would set the result's register.
                tracee.to_next_call().map_err(kernel)?;
                executed = Some(tracee);
            }
            Stop::Call if executed.is_some() => return Ok(executed),
            Stop::Signal(signal) => Tracee::go_on(target, signal).map_err(kernel)?,
            Stop::Call | Stop::Event(_) | Stop::Group => {
                Tracee::go_on(target, 0).map_err(kernel)?;
            }
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
