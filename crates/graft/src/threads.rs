//! All threads of a process, stopped for as long as its code is changed.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};

use crate::journal::started;
use crate::tracee::{Stop, Tracee};

/// All threads of a process, stopped. They go on when this is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    /// The process, as `/proc` lists it.
    in_proc: pid_t,
    stopped: Vec<Thread>,
    began: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    tid: pid_t,
    /// A signal that it was about to get.
    signal: c_int,
}

impl Threads {
    /// Stops all threads of a process. If one does not stop in time, all go on, and it is tried again once
    /// that one can be stopped.
    ///
    /// # Errors
    /// The kernel's; `TimedOut` if a thread sleeps where it cannot be stopped.
    pub(crate) fn stop(pid: pid_t) -> io::Result<Self> {
        let mut left = MOST_TRIES;
        loop {
            match Self::stop_at_once(pid) {
                Ok(all) => return Ok(all),
                Err(Unstopped::Error(error)) => return Err(error),
                Err(Unstopped::Late(late)) => {
                    left -= 1;
                    let is_over = !let_go(&late)?;
                    if is_over || left == 0 {
                        return Err(io::Error::new(io::ErrorKind::TimedOut, NOT_STOPPED));
                    }
                }
            }
        }
    }

    /// Stops all threads of a process, or none.
    fn stop_at_once(pid: pid_t) -> Result<Self, Unstopped> {
        let mut all = Self::none(pid);
        // A thread that is not stopped yet may make others, so until no new one appears.
        loop {
            let mut fresh = Vec::new();
            for entry in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let tid = entry
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse().ok());
                let Some(tid) = tid else { continue };
                if !all.stopped.iter().any(|known| known.tid == tid) && seized(tid)? {
                    fresh.push(tid);
                }
            }
            if fresh.is_empty() && !all.stopped.is_empty() {
                return Ok(all);
            }
            if fresh.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            let mut late = Vec::new();
            for tid in fresh {
                match waited(tid, all.began + PATIENCE)? {
                    Waited::Stopped(signal) => all.stopped.push(Thread { tid, signal }),
                    Waited::Ended => {}
                    Waited::Runs => late.push(tid),
                }
            }
            if !late.is_empty() {
                return Err(Unstopped::Late(late));
            }
        }
    }

    /// Takes over the only thread of a process, which is traced and stopped.
    pub(crate) fn only(tid: pid_t, in_proc: pid_t) -> Self {
        let mut all = Self::none(in_proc);
        all.stopped.push(Thread { tid, signal: 0 });
        all
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "threads of the real world stand still"
    )]
    fn none(in_proc: pid_t) -> Self {
        Self {
            in_proc,
            stopped: Vec::new(),
            began: Instant::now(),
        }
    }

    /// Returns the threads, still stopped, each with the signal that it was about to get.
    pub(crate) fn taken_over(mut self) -> Vec<(pid_t, c_int)> {
        let stopped = std::mem::take(&mut self.stopped);
        stopped.iter().map(|one| (one.tid, one.signal)).collect()
    }

    /// Returns a thread that system calls can be made in.
    pub(crate) fn one(&self) -> io::Result<Tracee> {
        // One that no signal waits for, which would come late.
        let quiet = self.stopped.iter().find(|thread| thread.signal == 0);
        let one = quiet.or(self.stopped.first());
        let tid = one.map_or(self.in_proc, |thread| thread.tid);
        Tracee::stopped(tid, self.in_proc)
    }

    /// Lets the threads that are at one of these places go on at another, whose code is the same.
    pub(crate) fn go_on_elsewhere(&self, places: &[(u64, u64)]) -> io::Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        for thread in &self.stopped {
            let tracee = Tracee::stopped(thread.tid, self.in_proc)?;
            let mut registers = tracee.registers()?;
            let place = places.iter().find(|(from, _)| *from == registers.rip);
            if let Some((_, to)) = place {
                registers.rip = *to;
                tracee.set_registers(&registers)?;
            }
        }
        Ok(())
    }

    /// Steps every thread out of `octets`, the addresses between two instructions of which only the
    /// first is to stay. Returns false if one will come back there from a signal handler.
    pub(crate) fn step_out_of(&self, octets: &std::ops::Range<u64>) -> io::Result<bool> {
        for thread in &self.stopped {
            let tracee = Tracee::stopped(thread.tid, self.in_proc)?;
            for _ in 0..MOST_STEPS {
                if !octets.contains(&tracee.registers()?.rip) {
                    break;
                }
                tracee.step()?;
            }
            let will_come_back = |place: Place| octets.contains(&place.rip);
            if octets.contains(&tracee.registers()?.rip) || is_named(&tracee, will_come_back)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether a thread is at a place that satisfies `is_inside` or will come back to one, or
    /// satisfies `is_there` with its registers.
    pub(crate) fn any_in(
        &self,
        is_inside: impl Fn(&Tracee, Place) -> bool,
        is_there: impl Fn(&libc::user_regs_struct) -> bool,
    ) -> io::Result<bool> {
        for thread in &self.stopped {
            let tracee = Tracee::stopped(thread.tid, self.in_proc)?;
            let registers = tracee.registers()?;
            let here = Place {
                rip: registers.rip,
                rsp: registers.rsp,
            };
            if is_inside(&tracee, here)
                || is_there(&registers)
                || is_named(&tracee, |place| is_inside(&tracee, place))?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the threads go on; returns how long they stood still.
    pub(crate) fn go_on(self) -> Duration {
        self.began.elapsed()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in &self.stopped {
            let _ = Tracee::detach(thread.tid, thread.signal);
        }
    }
}

/// Why the threads of a process were not stopped.
enum Unstopped {
    /// The kernel refused something.
    Error(io::Error),
    /// These were asked to stop and have not yet.
    Late(Vec<pid_t>),
}

impl From<io::Error> for Unstopped {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}

/// What became of a thread that was asked to stop.
enum Waited {
    /// It stands, and was about to get this signal.
    Stopped(c_int),
    /// It has ended.
    Ended,
    /// It has not stopped in time.
    Runs,
}

/// Waits until a thread stands, until `latest`.
#[allow(
    clippy::disallowed_methods,
    reason = "threads of the real world are waited for"
)]
fn waited(tid: pid_t, latest: Instant) -> io::Result<Waited> {
    loop {
        match Tracee::has_stopped(tid)? {
            Some(Stop::Ended) => return Ok(Waited::Ended),
            Some(Stop::Signal(signal)) => return Ok(Waited::Stopped(signal)),
            Some(_) => return Ok(Waited::Stopped(0)),
            None if Instant::now() > latest => return Ok(Waited::Runs),
            None => std::thread::sleep(Duration::from_micros(20)),
        }
    }
}

/// Lets threads go on that were asked to stop, each as soon as it stands; returns false if one does not stop.
#[allow(
    clippy::disallowed_methods,
    reason = "threads of the real world are waited for"
)]
fn let_go(late: &[pid_t]) -> io::Result<bool> {
    let latest = Instant::now() + LONGEST_SLEEP;
    for &tid in late {
        match waited(tid, latest)? {
            Waited::Stopped(signal) => Tracee::detach(tid, signal)?,
            Waited::Ended => {}
            Waited::Runs => return Ok(false),
        }
    }
    Ok(true)
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The next instruction.
    pub(crate) rip: u64,
    /// The stack.
    pub(crate) rsp: u64,
}

/// Seizes a thread and asks it to stop; false if it has ended.
fn seized(tid: pid_t) -> io::Result<bool> {
    let gone = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH);
    match Tracee::seize(tid, 0).and_then(|()| Tracee::interrupt(tid)) {
        Ok(()) => Ok(true),
        Err(error) if gone(&error) => Ok(false),
        // So the kernel says of one that has ended and is still listed.
        Err(error)
            if error.raw_os_error() == Some(libc::EPERM) && started(tid as u32).is_none() =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Returns whether a signal handler of the thread will return to a place that satisfies `is_meant`: whether
/// there is a signal's frame with it on the stack.
fn is_named(tracee: &Tracee, is_meant: impl Fn(Place) -> bool) -> io::Result<bool> {
    let stack = tracee.registers()?.rsp & !7;
    let mut octets = vec![0; STACK_LOOKED_AT];
    let mut length = octets.len();
    // The stack may end before.
    while tracee.read(stack, &mut octets[..length]).is_err() {
        length /= 2;
        if length < 8 {
            return Ok(false);
        }
    }
    let words: Vec<u64> = octets[..length]
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("eight octets")))
        .collect();
    // `struct sigcontext`: RSP, RIP, the flags, then CS and three more selectors.
    let is_frame = |one: &[u64]| {
        let (rsp, rip) = (one[0], one[1]);
        one[3] & 0xffff == USER_CODE && is_meant(Place { rip, rsp })
    };
    Ok(words.windows(4).any(is_frame))
}

/// CS of a 64-bit program.
const USER_CODE: u64 = 0x33;
/// How long the other threads stand still for one that does not stop.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often all threads are asked to stop.
const MOST_TRIES: u32 = 20;
/// How long to wait for a thread that did not stop in time, while the others go on.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);
/// What is said of a thread that does not stop.
const NOT_STOPPED: &str =
    "a thread does not stop: it sleeps where it cannot be stopped, or the machine is busy";
/// The most instructions until a thread has left the octets of a jump.
const MOST_STEPS: usize = 8;
/// How much of a stack is looked at: a signal's frame with all registers has up to 12 KB.
const STACK_LOOKED_AT: usize = 32 << 10;
