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
use crate::plant::{self, Failed, Planted};
use crate::program::Program;
use crate::refusal;
use crate::shared::Settings;
use crate::threads::Threads;
use crate::tracee::number_in_proc;
use crate::verify::{self, Verified};
use crate::watchdog::Watchdog;

/// What was done to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The longest that its threads stood still.
    pub stood_still: Duration,
    /// What was seen of its calls, if that was asked for.
    pub verified: Option<Verified>,
}

/// What is put into a process.
#[derive(Clone, Copy, Debug)]
pub struct Attachment<'a> {
    /// The process's own file.
    pub program: &'a Program,
    /// The file's checksum.
    pub build: u32,
    /// The code.
    pub object: &'a Object,
    /// The rules.
    pub settings: &'a Settings,
    /// Whether the calls of the first second are compared with the places that are known.
    pub is_verified: bool,
}

/// Puts the rule into a running process, and leaves a process of our own, the *keeper*, as its
/// watchdog.
///
/// # Errors
/// [`Failed`] if nothing was put into it.
pub fn attach(pid: u32, what: Attachment<'_>, journal: &Journal) -> Result<Attached, Failed> {
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
                match put(pid, what, journal) {
                    Ok(held) => keep(pid, &held, what, journal, tell),
                    Err(error) => drop(tell.write_all(error.to_string().as_bytes())),
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
            heard(&said).ok_or_else(|| match &*said {
                "" => Failed::Untraceable(refusal::of_this_process("")),
                _ => kernel("the keeper")(io::Error::other(said)),
            })
        }
    }
}

/// Returns why threads could not be stopped; who forbids it, where the kernel says that it is forbidden.
fn unstopped(error: io::Error) -> Failed {
    match error.raw_os_error() {
        Some(libc::EPERM) => Failed::Untraceable(refusal::of_this_process(&error.to_string())),
        _ => Failed::Kernel {
            doing: "stopping its threads",
            error,
        },
    }
}

/// Reads what the keeper says when all is well.
fn heard(said: &str) -> Option<Attached> {
    let (stood_still, verified) = said.strip_prefix(DONE)?.split_once('\n')?;
    Some(Attached {
        stood_still: Duration::from_nanos(stood_still.parse().ok()?),
        verified: Verified::decode(verified),
    })
}

/// A process with the rule in it.
struct Held {
    process: OwnedFd,
    planted: Planted,
    bias: u64,
    stood_still: Duration,
}

/// Lives the keeper's life, once the rule is in the process.
fn keep(pid: u32, held: &Held, what: Attachment<'_>, journal: &Journal, mut tell: fs::File) {
    let_go_of_what_is_inherited();
    // SAFETY: standard error becomes what standard output is: nothing. Nobody waits for our words.
    unsafe { libc::dup2(1, 2) };
    let Held {
        process, planted, ..
    } = held;
    let bound_ns = what.settings.rules.watchdog_ns;
    let watchdog = Watchdog::new(&planted.mapping, process, pid, bound_ns);
    std::thread::scope(|scope| {
        scope.spawn(|| watchdog.run());
        let verified = what.is_verified.then(|| {
            let threads = Threads::stop(pid as pid_t)?;
            verify::verify(threads, planted, what.program, held.bias, process)
        });
        let verified = match verified {
            Some(Ok(verified)) => verified.encode(),
            // What was put in is in, whatever became of this.
            Some(Err(_)) | None => String::new(),
        };
        let said = format!("{DONE}{}\n{verified}", held.stood_still.as_nanos());
        let _ = tell.write_all(said.as_bytes());
        drop(tell);
    });
    if crate::watchdog::has_ended(process) {
        journal.forget(pid);
    }
}

/// Puts the rule into the process: first what changes nothing, then the record, then the jumps.
fn put(pid: u32, what: Attachment<'_>, journal: &Journal) -> Result<Held, Failed> {
    let Attachment {
        program,
        build,
        object,
        settings,
        ..
    } = what;
    let kernel = |doing| move |error| Failed::Kernel { doing, error };
    let process = pidfd(pid as pid_t).map_err(kernel("finding it"))?;
    let bias = plant::bias(pid as pid_t, program)?;
    let stop = || Threads::stop(pid as pid_t).map_err(unstopped);
    if !program.is_tried {
        verify::check_registers(stop()?, program, bias)
            .map_err(kernel("looking at its calls"))?
            .map_err(Failed::Unfit)?;
    }
    let threads = stop()?;
    let tracee = threads.one().map_err(kernel("stopping its threads"))?;
    let scratch = program.sites[0].address + bias;
    let planted = plant::plant(&tracee, scratch, &process, program, bias, object)?;
    let first = threads.go_on();
    planted.set_up(settings, pid as pid_t);
    // SAFETY: no arguments, cannot fail.
    let keeper = unsafe { libc::getpid() } as u32;
    let record = Record {
        pid,
        started: started(pid).unwrap_or(0),
        boot: boot(),
        build,
        code: planted.code,
        shared: planted.shared,
        keeper: (keeper, started(keeper).unwrap_or(0)),
        patches: planted.jumps.clone(),
    };
    journal.announce(&record)?;
    match plant::jump_in(pid as pid_t, program, bias, &planted) {
        Ok(second) => Ok(Held {
            process,
            planted,
            bias,
            stood_still: first.max(second),
        }),
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

/// Refuses processes that calls must not be made in, or that would not be covered.
fn fit(pid: u32) -> Result<(), Failed> {
    // SAFETY: no arguments, cannot fail.
    let own = unsafe { libc::getpid() };
    if number_in_proc().is_ok_and(|number| number != own) {
        return Err(Failed::Unfit(
            "/proc is that of another PID namespace, so its numbers mean other processes; mount it anew",
        ));
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.map_err(|error| Failed::Kernel {
        doing: "looking at it",
        error,
    })?;
    let field = |name| refusal::field(&status, name);
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
/// How often the octets are put back until the threads stop for it.
const MOST_TRIES: u32 = 100;
const _: () = assert!(size_of::<Shared>() < 64 << 20);
