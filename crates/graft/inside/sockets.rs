//! What a descriptor is. What is unknown is asked of the kernel, and what is forgotten is asked for anew.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use tinygram_coalesce::Policy;

use crate::call::{Call, Next};
use crate::kernel::{self, IPPROTO_TCP};
use crate::layout::{Cause, Shared, Socket, class};
use crate::machine::{call, nr};
use crate::rules::policy;
use crate::table::socket;
use crate::thread::Caller;
use crate::{flush, peers};

/// Returns what a descriptor is, asking the kernel if need be.
#[inline(always)]
pub(crate) fn known(caller: &Caller<'_>, fd: u64, socket: &Socket) -> u32 {
    let known = socket.class.load(Relaxed);
    if known & class::KIND == class::UNKNOWN {
        enter(caller, fd, socket)
    } else {
        known
    }
}

/// Enters what a descriptor is. Each part is a function of its own, because each needs much of the stack.
#[cold]
#[inline(never)]
fn enter(caller: &Caller<'_>, fd: u64, socket: &Socket) -> u32 {
    let mut answer = ask(fd);
    if answer & class::KIND == class::TCP {
        socket.memory.store(0, Relaxed);
        socket.waits.store(u64::MAX, Relaxed);
        socket.peer.store(0, Relaxed);
        answer |= socket.class.load(Relaxed) & class::OPENED;
        let is_covered = peers::is_covered(caller, fd, socket, answer & class::OPENED != 0);
        answer = take_over(caller.shared, fd, answer, is_covered);
    }
    socket.class.store(answer, Relaxed);
    answer
}

/// Asks the kernel what a descriptor is.
#[cold]
#[inline(never)]
fn ask(fd: u64) -> u32 {
    let mut answer = match kernel::option(fd, kernel::SOL_SOCKET, kernel::SO_PROTOCOL) {
        Ok(6) => class::TCP,
        Ok(_) => class::WAITS,
        Err(()) => {
            // SAFETY: a seek by nothing changes nothing.
            let sought = unsafe { call(nr::LSEEK, [fd, 0, kernel::SEEK_CUR, 0, 0, 0]) };
            if kernel::failed(sought) {
                class::WAITS
            } else {
                class::FILE
            }
        }
    };
    // SAFETY: reads the descriptor's flags.
    let flags = unsafe { call(nr::FCNTL, [fd, kernel::F_GETFL, 0, 0, 0, 0]) };
    if !kernel::failed(flags) && flags & kernel::O_NONBLOCK != 0 {
        answer |= class::NONBLOCKING;
    }
    answer
}

/// Sets `TCP_NODELAY` on a socket that is to be held, and adds what the program had set to what is known.
#[inline(never)]
fn take_over(shared: &Shared, fd: u64, known: u32, is_covered: bool) -> u32 {
    let mut found = known;
    if kernel::option(fd, IPPROTO_TCP, kernel::TCP_CORK) != Ok(0) {
        found |= class::ALONE;
    }
    if !is_covered {
        return found | class::ALONE;
    }
    if kernel::option(fd, IPPROTO_TCP, kernel::TCP_NODELAY) != Ok(0) {
        found |= class::PROGRAM_NODELAY;
    } else if found & class::ALONE == 0 && policy(shared) != Policy::Observe {
        kernel::set_option(fd, IPPROTO_TCP, kernel::TCP_NODELAY, 1);
        found |= class::TAKEN_OVER;
    }
    found
}

/// `connect`: the service is the other end.
pub(crate) fn opens(caller: &Caller<'_>, fd: u64) {
    forget(caller, fd);
    if let Some(socket) = socket(caller.shared, fd) {
        socket.class.store(class::UNKNOWN | class::OPENED, SeqCst);
    }
}

/// `accept`: the service is ours. musl's `listen` does not pass here.
pub(crate) fn accepts(caller: &Caller<'_>, fd: u64) {
    if let Some(socket) = socket(caller.shared, fd)
        && socket.class.load(Relaxed) & class::KIND == class::UNKNOWN
    {
        peers::listens(caller, fd);
        socket.class.store(class::WAITS, Relaxed);
    }
}

/// `fcntl(F_SETFL)`: notes whether reads wait from now on.
pub(crate) fn set_flags(shared: &Shared, call: &Call) {
    let Some(socket) = socket(shared, call.a1) else {
        return;
    };
    let known = socket.class.load(Relaxed);
    if known & class::KIND == class::UNKNOWN {
        return;
    }
    flush::one(shared, call.a1, Cause::Descriptor);
    let bit = if call.a3 & kernel::O_NONBLOCK == 0 {
        0
    } else {
        class::NONBLOCKING
    };
    let now = known & !class::NONBLOCKING | bit;
    socket.class.store(now, Relaxed);
}

/// Sends what is held on a descriptor that is about to lead elsewhere, or to be changed, and forgets
/// what it was.
pub(crate) fn forget(caller: &Caller<'_>, fd: u64) {
    if let Some(socket) = socket(caller.shared, fd)
        && socket.class.load(Relaxed) != class::UNKNOWN
        && !is_in_a_child(caller.shared)
    {
        flush::one(caller.shared, fd, Cause::Descriptor);
        peers::settle(caller, fd, socket);
        socket.class.store(class::UNKNOWN, SeqCst);
    }
}

/// Returns whether a child makes the call that shares the program's memory (vfork). Its descriptors are its own, so what it
/// closes stays open in the program.
#[inline(never)]
fn is_in_a_child(shared: &Shared) -> bool {
    let own = shared.pid.load(Relaxed);
    // SAFETY: asks for a number.
    own != 0 && unsafe { call(nr::GETPID, [0; 6]) } as u32 != own
}

/// `setsockopt` and `getsockopt`: what the socket is, is asked for before the stack is needed.
#[inline(always)]
pub(crate) fn option(caller: &Caller<'_>, call: &mut Call) -> Next {
    let Some(socket) = socket(caller.shared, call.a1) else {
        return Next::Go;
    };
    if call.a2 != IPPROTO_TCP {
        return Next::Go;
    }
    let known = known(caller, call.a1, socket);
    if call.word == nr::SETSOCKOPT {
        set_option(caller.shared, call, socket, known)
    } else {
        get_option(call, known)
    }
}

/// `setsockopt`: notes what matters. The program may turn `TCP_NODELAY` off; under a policy that sets
/// it, it is set again.
#[inline(never)]
fn set_option(shared: &Shared, call: &mut Call, socket: &Socket, known: u32) -> Next {
    match call.a3 {
        kernel::TCP_NODELAY => {
            let result = call.make();
            if result == 0 && known & (class::KIND | class::ALONE) == class::TCP {
                // SAFETY: the kernel has just read the same four octets.
                let on = unsafe { (call.a4 as *const u32).read_unaligned() } != 0;
                let takes_over = !on && policy(shared).sets_nodelay();
                let bit = match on {
                    true => class::PROGRAM_NODELAY,
                    false if takes_over => class::TAKEN_OVER,
                    false => 0,
                };
                let rest = known & !(class::PROGRAM_NODELAY | class::TAKEN_OVER);
                socket.class.store(rest | bit, Relaxed);
                if takes_over {
                    kernel::set_option(call.a1, IPPROTO_TCP, kernel::TCP_NODELAY, 1);
                }
            }
            call.word = result;
            Next::Made
        }
        kernel::TCP_CORK | kernel::TCP_ULP | kernel::TCP_REPAIR => {
            flush::one(shared, call.a1, Cause::Descriptor);
            socket.class.store(known | class::ALONE, Relaxed);
            Next::Go
        }
        _ => Next::Go,
    }
}

/// `getsockopt`: shows for `TCP_NODELAY` what the program set.
#[inline(never)]
fn get_option(call: &mut Call, known: u32) -> Next {
    if call.a3 != kernel::TCP_NODELAY {
        return Next::Go;
    }
    call.word = call.make();
    if call.word == 0 && known & (class::KIND | class::ALONE) == class::TCP {
        let shown = u32::from(known & class::PROGRAM_NODELAY != 0);
        // SAFETY: the kernel has just written there, and says how much.
        unsafe {
            if (call.a5 as *const u32).read_unaligned() == 4 {
                (call.a4 as *mut u32).write_unaligned(shown);
            }
        }
    }
    Next::Made
}
