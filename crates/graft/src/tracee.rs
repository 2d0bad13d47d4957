//! A process that is traced: its registers, its memory, and system calls made in its name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use libc::{c_int, c_long, c_void, pid_t, user_regs_struct};

/// One stopped thread of a process.
#[derive(Debug)]
pub(crate) struct Tracee {
    pub(crate) pid: pid_t,
    memory: File,
}

/// How a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// By this signal, which has not been delivered.
    Signal(c_int),
    /// At a system call's entry or exit.
    Call,
    /// At this event (`PTRACE_EVENT_*`).
    Event(c_int),
    /// As its whole process does, by a signal such as SIGSTOP.
    Group,
    /// Not: the process has ended.
    Ended,
}

impl Stop {
    fn of(status: c_int) -> Self {
        if !libc::WIFSTOPPED(status) {
            return Self::Ended;
        }
        match (libc::WSTOPSIG(status), status >> 16) {
            (signal, 0) if signal == libc::SIGTRAP | 0x80 => Self::Call,
            (signal, 0) => Self::Signal(signal),
            (signal, libc::PTRACE_EVENT_STOP) if signal != libc::SIGTRAP => Self::Group,
            (_, event) => Self::Event(event),
        }
    }
}

/// Returns the number that `/proc` has for the calling process. It is another than the process's own in
/// a PID namespace whose `/proc` was mounted outside.
///
/// # Errors
/// The kernel's, if `/proc` is not mounted or does not list this process.
pub(crate) fn number_in_proc() -> io::Result<pid_t> {
    let link = fs::read_link("/proc/self")?;
    let number = link.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Returns the number that a thread has in its own PID namespace; `place` is where it stands in `/proc`:
/// `PID`, or `PID/task/TID`.
pub(crate) fn number_inside(place: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{place}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Returns the registers of a thread that is stopped.
pub(crate) fn registers_of(tid: pid_t) -> io::Result<user_regs_struct> {
    // SAFETY: integers, all written by the kernel.
    let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
    let at = (&raw mut registers) as usize;
    request(libc::PTRACE_GETREGS, tid, 0, at)?;
    Ok(registers)
}

/// Returns a thread that has stopped, and how; `None` if none has. A thread counts as ended once no more
/// are traced.
pub(crate) fn any_stopped() -> io::Result<Option<(pid_t, Stop)>> {
    let mut status = 0;
    // SAFETY: writes into a local.
    match unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::WNOHANG) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(None),
        tid => Ok(Some((tid, Stop::of(status)))),
    }
}

fn check(result: c_long) -> io::Result<()> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The number of a request, whose type is the C library's.
#[cfg(target_env = "gnu")]
type Request = libc::c_uint;
#[cfg(not(target_env = "gnu"))]
type Request = c_int;

fn request(kind: Request, pid: pid_t, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: requests that take two integers.
    check(unsafe { libc::ptrace(kind, pid, address as *mut c_void, data as *mut c_void) })
}

impl Tracee {
    /// Begins to trace a process without stopping it.
    pub(crate) fn seize(pid: pid_t, options: c_int) -> io::Result<()> {
        request(libc::PTRACE_SEIZE, pid, 0, options as usize)
    }

    /// Takes hold of a thread that is stopped, of a process that `/proc` lists as `in_proc` (see
    /// [`number_in_proc`]); its memory is that of the program it runs now.
    pub(crate) fn stopped(pid: pid_t, in_proc: pid_t) -> io::Result<Self> {
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{in_proc}/mem"))?;
        Ok(Self { pid, memory })
    }

    /// Waits until the thread stops.
    pub(crate) fn wait(pid: pid_t) -> io::Result<Stop> {
        let mut status = 0;
        // SAFETY: writes into a local.
        while unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) } == -1 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(Stop::of(status))
    }

    /// Returns how the thread stopped, if it has.
    pub(crate) fn has_stopped(tid: pid_t) -> io::Result<Option<Stop>> {
        let mut status = 0;
        // SAFETY: writes into a local.
        match unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            -1 if io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD) => {
                Ok(Some(Stop::Ended))
            }
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(None),
            _ => Ok(Some(Stop::of(status))),
        }
    }

    /// Asks a thread to stop.
    pub(crate) fn interrupt(tid: pid_t) -> io::Result<()> {
        request(libc::PTRACE_INTERRUPT, tid, 0, 0)
    }

    /// Returns the thread that a stopped one has made, if it stopped for that.
    pub(crate) fn message(tid: pid_t) -> io::Result<pid_t> {
        let mut made: libc::c_ulong = 0;
        let at = (&raw mut made).addr();
        request(libc::PTRACE_GETEVENTMSG, tid, 0, at)?;
        Ok(made as pid_t)
    }

    /// Lets a thread make one instruction. A signal that comes meanwhile is kept for later.
    pub(crate) fn step(&self) -> io::Result<()> {
        self.until_trap(|| request(libc::PTRACE_SINGLESTEP, self.pid, 0, 0))
    }

    /// Lets the thread go on by `go_on`, as often as it takes, until it is trapped. A signal that comes meanwhile waits
    /// until then.
    fn until_trap(&self, go_on: impl Fn() -> io::Result<()>) -> io::Result<()> {
        let mut later = Vec::new();
        let result = loop {
            go_on()?;
            match Self::wait(self.pid)? {
                Stop::Signal(libc::SIGTRAP) => break Ok(()),
                Stop::Signal(signal) => later.push(signal),
                Stop::Ended => break Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                Stop::Call | Stop::Event(_) | Stop::Group => {}
            }
        };
        self.send(&later);
        result
    }

    /// Sends the thread signals that it was to get.
    fn send(&self, signals: &[c_int]) {
        for signal in signals {
            // SAFETY: numbers, no memory.
            unsafe { libc::syscall(libc::SYS_tkill, self.pid, *signal) };
        }
    }

    /// Lets a thread go on, with a signal if it is to get one.
    pub(crate) fn go_on(pid: pid_t, signal: c_int) -> io::Result<()> {
        request(libc::PTRACE_CONT, pid, 0, signal as usize)
    }

    /// Lets a thread go on to the next entry or exit of a system call.
    pub(crate) fn to_next_call(&self) -> io::Result<()> {
        Self::to_next_call_of(self.pid, 0)
    }

    /// As [`Self::to_next_call`], with a signal if the thread is to get one.
    pub(crate) fn to_next_call_of(tid: pid_t, signal: c_int) -> io::Result<()> {
        request(libc::PTRACE_SYSCALL, tid, 0, signal as usize)
    }

    /// Sets ptrace's options for a thread.
    pub(crate) fn set_options(tid: pid_t, options: c_int) -> io::Result<()> {
        request(libc::PTRACE_SETOPTIONS, tid, 0, options as usize)
    }

    /// Leaves a thread stopped that a signal has stopped, until another signal continues it.
    pub(crate) fn listen(tid: pid_t) -> io::Result<()> {
        request(libc::PTRACE_LISTEN, tid, 0, 0)
    }

    /// Ends the tracing.
    pub(crate) fn detach(pid: pid_t, signal: c_int) -> io::Result<()> {
        request(libc::PTRACE_DETACH, pid, 0, signal as usize)
    }

    pub(crate) fn registers(&self) -> io::Result<user_regs_struct> {
        registers_of(self.pid)
    }

    pub(crate) fn set_registers(&self, registers: &user_regs_struct) -> io::Result<()> {
        let at = std::ptr::from_ref(registers) as usize;
        request(libc::PTRACE_SETREGS, self.pid, 0, at)
    }

    pub(crate) fn read(&self, address: u64, octets: &mut [u8]) -> io::Result<()> {
        self.memory.read_exact_at(octets, address)
    }

    pub(crate) fn write(&self, address: u64, octets: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(octets, address)
    }

    /// Makes a system call in the process's name. The two octets SYSCALL and one INT3 stand for its
    /// length at `scratch`, which is executable code that no other thread runs.
    pub(crate) fn call(
        &self,
        scratch: u64,
        number: c_long,
        arguments: [u64; 6],
    ) -> io::Result<u64> {
        let before = self.registers()?;
        let mut there = [0; CALL.len()];
        self.read(scratch, &mut there)?;
        self.write(scratch, &CALL)?;
        let mut registers = before;
        registers.rip = scratch;
        registers.rax = number as u64;
        // Not in a system call, so nothing is restarted.
        registers.orig_rax = u64::MAX;
        let [a, b, c, d, e, f] = arguments;
        (registers.rdi, registers.rsi, registers.rdx) = (a, b, c);
        (registers.r10, registers.r8, registers.r9) = (d, e, f);
        self.set_registers(&registers)?;
        let result = self.run_to_trap();
        // Put back whatever happened.
        self.write(scratch, &there)?;
        let result = result.and_then(|()| self.registers());
        self.set_registers(&before)?;
        let result = result?.rax;
        if result > u64::MAX - 4096 {
            return Err(io::Error::from_raw_os_error(result.wrapping_neg() as i32));
        }
        Ok(result)
    }

    /// Lets the thread run to the INT3. A signal that comes meanwhile waits until the end.
    fn run_to_trap(&self) -> io::Result<()> {
        self.until_trap(|| Self::go_on(self.pid, 0))
    }
}

/// SYSCALL; INT3.
const CALL: [u8; 3] = [0x0f, 0x05, 0xcc];
