//! Where the program's system calls arrive.
//!
//! The first octets of Go's `Syscall6` and of `runtime.futex` are a jump to the stubs here. A stub
//! makes the moves that the jump replaced and lets everything that does not matter go on to the
//! program's own SYSCALL.

use core::sync::atomic::Ordering::Relaxed;

use crate::call::{Call, Next};
use crate::counts::add;
use crate::layout::{Cause, Inert, Shared};
use crate::machine::nr;
use crate::thread::Caller;
use crate::{flush, monitor, peers, reads, sockets, waits, writes};

/// Decides what becomes of a call.
pub(crate) extern "C" fn on_call(call: &mut Call, shared: &Shared) -> Next {
    if shared.inert.load(Relaxed) != 0 {
        return Next::Go;
    }
    // SAFETY: R14 is the goroutine wherever Go makes system calls, and the stub has read it.
    let Some(caller) = (unsafe { Caller::of_goroutine(call.task, shared) }) else {
        return Next::Go;
    };
    waits::take_over(&caller);
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
            add(&shared.rings, 1);
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
        waits::take_over(&caller);
        waits::before(&caller);
    }
}

/// Hears that a thread is about to sleep.
pub(crate) extern "C" fn on_usleep(goroutine: u64, shared: &Shared, us: u32) {
    if shared.inert.load(Relaxed) == 0 {
        monitor::sleeps(goroutine, us, shared);
    }
}
