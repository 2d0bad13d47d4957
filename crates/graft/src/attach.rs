//! Puts the rule into a program that runs already.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use libc::pid_t;

use crate::detach;
use crate::journal::{Journal, Record, boot, started};
use crate::launch::{let_go_of_what_is_inherited, pidfd, pipe, reap};
use crate::layout::Shared;
use crate::object::Object;
use crate::plant::{self, Failed, JUMP, Planted};
use crate::program::{Program, Shape};
use crate::shared::Settings;
use crate::threads::Threads;
use crate::watchdog::Watchdog;

/// What was done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The longest that its threads stood still.
    pub stood_still: Duration,
}

/// Puts the rule into a running process, and leaves a process of our own, the *keeper*, as its
/// watchdog. `program` and `build` are the process's own file and its checksum.
///
/// # Errors
/// [`Failed`] if nothing was put into it.
pub fn attach(
    pid: u32,
    program: &Program,
    build: u32,
    object: &Object,
    settings: &Settings,
    journal: &Journal,
) -> Result<Attached, Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    fit(pid)?;
    let (mut told, mut tell) = pipe()
        .map_err(kernel("making a pipe"))
        .map(|(ready, tell)| (fs::File::from(ready), tell))?;
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(kernel("making a process")(io::Error::last_os_error())),
        0 => {
            drop(told);
            // Twice, so that the keeper is nobody's child, and in a session of its own.
            // SAFETY: no memory is touched.
            if unsafe { libc::setsid() } < 0 || unsafe { libc::fork() } == 0 {
                let put = put(pid, program, build, object, settings, journal);
                let said = match &put {
                    Ok((attached, ..)) => format!("{DONE}{}", attached.stood_still.as_nanos()),
                    Err(error) => error.to_string(),
                };
                let _ = tell.write_all(said.as_bytes());
                drop(tell);
                if let Ok((_, planted, process)) = put {
                    keep(pid, &planted, &process, settings, journal);
                }
            }
            // SAFETY: ends this process without the parent's exit handlers.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop(tell);
            reap(child);
            let mut said = String::new();
            told.read_to_string(&mut said)
                .map_err(kernel("hearing from the keeper"))?;
            let stood_still = said.strip_prefix(DONE).and_then(|text| text.parse().ok());
            stood_still.map_or_else(
                || Err(kernel("the keeper")(io::Error::other(said.clone()))),
                |nanoseconds| {
                    Ok(Attached {
                        stood_still: Duration::from_nanos(nanoseconds),
                    })
                },
            )
        }
    }
}

/// The keeper's life, once the rule is in the process.
fn keep(pid: u32, planted: &Planted, process: &OwnedFd, settings: &Settings, journal: &Journal) {
    let_go_of_what_is_inherited();
    // SAFETY: standard error becomes what standard output is: nothing. Nobody waits for our words.
    unsafe { libc::dup2(1, 2) };
    Watchdog::new(&planted.mapping, process, pid, settings.rules.watchdog_ns).run();
    if crate::watchdog::has_ended(process) {
        journal.forget(pid);
    }
}

/// Puts the rule into the process: first what changes nothing, then the record, then the jumps.
fn put(
    pid: u32,
    program: &Program,
    build: u32,
    object: &Object,
    settings: &Settings,
    journal: &Journal,
) -> Result<(Attached, Planted, OwnedFd), Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    let process = pidfd(pid as pid_t).map_err(kernel("finding it"))?;
    let threads = Threads::stop(pid as pid_t).map_err(kernel("stopping its threads"))?;
    let tracee = threads.one().map_err(kernel("stopping its threads"))?;
    let bias = plant::bias(pid as pid_t, program)?;
    let scratch = program.sites[0].address + bias;
    let planted = plant::plant(&tracee, scratch, &process, program, object)?;
    let first = threads.go_on();
    planted.set_up(settings, pid as pid_t);
    let record = Record {
        pid,
        started: started(pid).unwrap_or(0),
        boot: boot(),
        build,
        code: planted.code,
        shared: planted.shared,
        patches: planted.jumps.clone(),
    };
    journal.announce(&record)?;
    match jump(pid, program, bias, &planted) {
        Ok(second) => {
            let stood_still = first.max(second);
            Ok((Attached { stood_still }, planted, process))
        }
        Err(error) => {
            // What kept the threads from stopping may keep them from it again.
            for _ in 0..MOST_TRIES {
                if detach::detach(&record, build, journal).is_ok() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error)
        }
    }
}

/// Writes the jumps, once no thread is in their octets; returns how long the threads stood still.
fn jump(pid: u32, program: &Program, bias: u64, planted: &Planted) -> Result<Duration, Failed> {
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    let mut longest = Duration::ZERO;
    for _ in 0..MOST_TRIES {
        let threads = Threads::stop(pid as pid_t).map_err(kernel("stopping its threads"))?;
        let mut is_free = true;
        for site in &program.sites {
            let inside = interior(site.shape, site.address + bias);
            let free = threads.step_out_of(&inside);
            is_free &= free.map_err(kernel("stepping out of the octets"))?;
        }
        if is_free {
            let tracee = threads.one().map_err(kernel("stopping its threads"))?;
            plant::write_jumps(&tracee, &planted.jumps)?;
            return Ok(longest.max(threads.go_on()));
        }
        longest = longest.max(threads.go_on());
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(Failed::Unfit(
        "a thread of its does not leave the octets that are to be replaced",
    ))
}

/// Returns the addresses at which no thread may be when the first octets of a place become a jump.
fn interior(shape: Shape, address: u64) -> std::ops::Range<u64> {
    match shape {
        // Three octets, then the second instruction.
        Shape::GoSyscall | Shape::MuslSyscall => address + 1..address + JUMP as u64,
        // One instruction of five octets.
        Shape::GoFutex => address + 1..address + 1,
    }
}

/// Refuses processes that calls must not be made in, or that would not be covered.
fn fit(pid: u32) -> Result<(), Failed> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.map_err(|error| Failed::Kernel {
        doing: "looking at it",
        error,
    })?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map_or("", str::trim)
    };
    if !matches!(field("TracerPid:"), "0" | "") {
        return Err(Failed::Unfit(
            "it is traced already (by a debugger or strace)",
        ));
    }
    if field("Seccomp:") == "2" {
        return Err(Failed::Unfit(
            "its system calls are filtered (seccomp), and calls made in its name might end it",
        ));
    }
    let open = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let has_ring = open.flatten().any(|entry| {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        target.as_os_str() == "anon_inode:[io_uring]"
    });
    if has_ring {
        return Err(Failed::Unfit("it uses io_uring, whose writes pass by"));
    }
    Ok(())
}

/// What the keeper says first when all is well.
const DONE: &str = "attached ";
/// How often the threads are stopped until none is where it must not be.
const MOST_TRIES: u32 = 100;
const _: () = assert!(size_of::<Shared>() < 64 << 20);
