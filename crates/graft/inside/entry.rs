//! Where the program's system calls arrive.
//!
//! The first octets of Go's `Syscall6` and of `runtime.futex` are a jump to the stubs here. A stub
//! makes the moves that the jump replaced and lets everything that does not matter go on to the
//! program's own SYSCALL.

use core::sync::atomic::Ordering::Relaxed;

use crate::layout::{Cause, Inert, Shared};
use crate::machine::{call_of_go, nr};
use crate::thread::Caller;
use crate::{flush, monitor, peers, reads, sockets, waits, writes};

/// The registers of a system call that has not been made yet, as the stub saved them.
#[repr(C)]
pub(crate) struct Call {
    /// The number; once it was made, the result.
    pub(crate) word: u64,
    /// The arguments.
    pub(crate) a1: u64,
    pub(crate) a2: u64,
    pub(crate) a3: u64,
    pub(crate) a4: u64,
    pub(crate) a5: u64,
    pub(crate) a6: u64,
    /// Go: the goroutine. C: the thread pointer.
    pub(crate) task: u64,
}

impl Call {
    /// Makes the call here and now.
    pub(crate) fn make(&self) -> u64 {
        let arguments = [self.a1, self.a2, self.a3, self.a4, self.a5, self.a6];
        // SAFETY: the program's own arguments, for the call that it asked for.
        unsafe { call_of_go(self.word, arguments) }
    }
}

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Next {
    /// The program's own SYSCALL makes it, with the registers as they are in [`Call`].
    Go = 0,
    /// It was made, and its result is in [`Call::word`].
    Made = 1,
}

/// What the command writes into the object before it is put into a program. The stubs read it.
#[repr(C)]
pub struct Cells {
    /// The address of [`Shared`] in the program.
    shared: u64,
    /// Go's `Syscall6`: its SYSCALL, and what follows it.
    syscall: u64,
    syscall_made: u64,
    /// Go's `runtime.futex`: what follows the replaced instruction.
    futex: u64,
    /// The SYSCALL of musl's `__syscall_cp_c`, or `__syscall_cp_asm`.
    musl: u64,
    /// C: the address of a word that is 0 in a child that was forked.
    alive: u64,
    /// Go's `runtime.usleep`: what follows the replaced instruction.
    usleep: u64,
}

/// The command finds it by its name; never written by this code.
#[unsafe(no_mangle)]
pub static graft_cells: Cells = Cells {
    shared: 0,
    syscall: 0,
    syscall_made: 0,
    futex: 0,
    musl: 0,
    alive: 0,
    usleep: 0,
};

/// Decides what becomes of a call.
pub(crate) extern "C" fn on_call(call: &mut Call, shared: &Shared) -> Next {
    if shared.inert.load(Relaxed) != 0 {
        return Next::Go;
    }
    // SAFETY: R14 is the goroutine wherever Go makes system calls, and the stub has read it.
    let Some(caller) = (unsafe { Caller::of_goroutine(call.task, shared) }) else {
        return Next::Go;
    };
    match call.word {
        nr::READ | nr::RECVFROM | nr::RECVMSG | nr::READV => reads::incoming(&caller, call),
        nr::WRITE | nr::SENDTO => writes::outgoing(&caller, call),
        _ => other(&caller, call),
    }
}

/// Calls other than reads and writes.
#[inline(always)]
pub(crate) fn other(caller: &Caller<'_>, call: &mut Call) -> Next {
    let shared = caller.shared;
    match call.word {
        nr::WRITEV | nr::SENDMSG | nr::SENDMMSG | nr::SENDFILE | nr::SPLICE => {
            // The destination: the first argument, but splice's third.
            let is_splice = call.word == nr::SPLICE;
            let fd = if is_splice { call.a3 } else { call.a1 };
            writes::alongside(caller, call, fd)
        }
        nr::CONNECT => {
            sockets::opens(caller, call.a1);
            waits::before(caller);
            Next::Go
        }
        nr::LISTEN => {
            peers::listens(caller, call.a1);
            Next::Go
        }
        nr::EPOLL_WAIT
        | nr::EPOLL_PWAIT
        | nr::POLL
        | nr::PPOLL
        | nr::SELECT
        | nr::PSELECT6
        | nr::PAUSE
        | nr::NANOSLEEP
        | nr::CLOCK_NANOSLEEP
        | nr::WAIT4
        | nr::WAITID => {
            waits::before(caller);
            Next::Go
        }
        nr::CLOSE => {
            sockets::forget(caller, call.a1);
            Next::Go
        }
        nr::SHUTDOWN => {
            flush::one(shared, call.a1, Cause::Descriptor);
            Next::Go
        }
        nr::DUP2 | nr::DUP3 => {
            sockets::forget(caller, call.a2);
            Next::Go
        }
        nr::FCNTL => {
            if call.a2 == crate::kernel::F_SETFL {
                sockets::set_flags(shared, call);
            }
            Next::Go
        }
        nr::SETSOCKOPT | nr::GETSOCKOPT => sockets::option(caller, call),
        nr::EXECVE | nr::EXECVEAT => {
            waits::before_another_program(shared);
            Next::Go
        }
        nr::IO_URING_SETUP => {
            writes::add(&shared.rings, 1);
            Next::Go
        }
        nr::SECCOMP => {
            waits::inert(shared, Inert::Sandbox);
            Next::Go
        }
        nr::PRCTL => {
            // A process that cannot be dumped may not be looked into, so a watchdog without privileges cannot flush.
            let is_hidden = call.a1 == crate::kernel::PR_SET_DUMPABLE && call.a2 != 1;
            if is_hidden {
                waits::inert(shared, Inert::Hidden);
            } else if call.a1 == crate::kernel::PR_SET_SECCOMP {
                waits::inert(shared, Inert::Sandbox);
            }
            Next::Go
        }
        _ => Next::Go,
    }
}

/// Sends what the thread holds before it waits for another thread (`operation` is 0), and hears who is woken.
pub(crate) extern "C" fn on_futex(goroutine: u64, shared: &Shared, operation: u32, word: u64) {
    if shared.inert.load(Relaxed) != 0 {
        return;
    }
    if operation != 0 {
        monitor::wakes(word, shared);
        return;
    }
    monitor::waits(goroutine, word, shared);
    // SAFETY: as in `on_call`.
    if let Some(caller) = unsafe { Caller::of_goroutine(goroutine, shared) } {
        waits::before(&caller);
    }
}

/// Hears that a thread is about to sleep.
pub(crate) extern "C" fn on_usleep(goroutine: u64, shared: &Shared, us: u32) {
    if shared.inert.load(Relaxed) == 0 {
        monitor::sleeps(goroutine, us, shared);
    }
}
