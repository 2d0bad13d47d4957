//! What a descriptor is. What is unknown is asked of the kernel; forgetting is always safe.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use tinygram_coalesce::Policy;

use crate::entry::{Call, Next};
use crate::flush;
use crate::kernel::{self, IPPROTO_TCP, nr};
use crate::layout::{Cause, HABITS, SOCKETS, Shared, Socket, class};
use crate::thread::Caller;
use crate::writes;

/// Returns the entry of a descriptor, if it has one.
#[inline(always)]
pub(crate) fn socket(shared: &Shared, fd: u64) -> Option<&Socket> {
    shared.sockets.get(usize::try_from(fd).unwrap_or(SOCKETS))
}

/// Returns what a descriptor is, asking the kernel if need be.
#[inline(always)]
pub(crate) fn known(shared: &Shared, fd: u64, socket: &Socket) -> u32 {
    let known = socket.class.load(Relaxed);
    if known & class::KIND == class::UNKNOWN {
        ask(shared, fd, socket)
    } else {
        known
    }
}

#[cold]
#[inline(never)]
fn ask(shared: &Shared, fd: u64, socket: &Socket) -> u32 {
    let mut answer = match kernel::option(fd, kernel::SOL_SOCKET, kernel::SO_PROTOCOL) {
        Ok(6) => class::TCP,
        Ok(_) => class::WAITS,
        Err(()) => {
            // SAFETY: a seek by nothing changes nothing.
            let sought = unsafe { kernel::call(nr::LSEEK, [fd, 0, kernel::SEEK_CUR, 0, 0, 0]) };
            if kernel::failed(sought) {
                class::WAITS
            } else {
                class::FILE
            }
        }
    };
    // SAFETY: reads the descriptor's flags.
    let flags = unsafe { kernel::call(nr::FCNTL, [fd, kernel::F_GETFL, 0, 0, 0, 0]) };
    if !kernel::failed(flags) && flags & kernel::O_NONBLOCK != 0 {
        answer |= class::NONBLOCKING;
    }
    if answer & class::KIND == class::TCP {
        answer |= take_over(shared, fd, socket);
    }
    socket.class.store(answer, Relaxed);
    answer
}

/// Sets `TCP_NODELAY` on a socket that is to be held, and returns what the program had set.
fn take_over(shared: &Shared, fd: u64, socket: &Socket) -> u32 {
    socket.memory.store(0, Relaxed);
    socket.waits.store(u64::MAX, Relaxed);
    let mut found = 0;
    if kernel::option(fd, IPPROTO_TCP, kernel::TCP_CORK) != Ok(0) {
        found |= class::ALONE;
    }
    if kernel::option(fd, IPPROTO_TCP, kernel::TCP_NODELAY) != Ok(0) {
        found |= class::PROGRAM_NODELAY;
    } else if found & class::ALONE == 0 && writes::policy(shared) != Policy::Observe {
        kernel::set_option(fd, IPPROTO_TCP, kernel::TCP_NODELAY, 1);
    }
    socket.habit.store(service(fd), Relaxed);
    found
}

/// Returns the place of the connection's service among the habits: the lower of the two ports, which
/// is the service's (a client's port is an ephemeral one, 32768 and higher by default).
fn service(fd: u64) -> u32 {
    let port = |number: u64| -> u32 {
        let mut address = [0_u8; 28];
        let mut length = 28_u32;
        let (address_at, length_at) = (address.as_mut_ptr() as u64, &raw mut length as u64);
        // SAFETY: the kernel writes at most 28 octets, and the length.
        let result = unsafe { kernel::call(number, [fd, address_at, length_at, 0, 0, 0]) };
        if kernel::failed(result) {
            return u32::from(u16::MAX);
        }
        // The port is at the same place for IPv4 and IPv6.
        u32::from(address[2]) << 8 | u32::from(address[3])
    };
    let (own, peer) = (port(nr::GETSOCKNAME), port(nr::GETPEERNAME));
    let service = own.min(peer) << 1 | u32::from(own <= peer);
    1 + service % (HABITS as u32 - 1)
}

/// Sends what is held on a descriptor that is about to lead elsewhere, or to be changed, and forgets
/// what it was.
pub(crate) fn forget(caller: &Caller<'_>, fd: u64) {
    if let Some(socket) = socket(caller.shared, fd)
        && socket.class.load(Relaxed) != class::UNKNOWN
    {
        flush::one(caller.shared, fd, Cause::Descriptor);
        socket.class.store(class::UNKNOWN, SeqCst);
    }
}

/// `setsockopt`: notes what matters. The program may turn `TCP_NODELAY` off; under a policy that sets
/// it, it is set again.
pub(crate) fn set_option(caller: &Caller<'_>, call: &mut Call) -> Next {
    let Some(socket) = socket(caller.shared, call.rdi) else {
        return Next::Go;
    };
    match (call.rsi, call.rdx) {
        (IPPROTO_TCP, kernel::TCP_NODELAY) => {
            let known = known(caller.shared, call.rdi, socket);
            let result = call.make();
            if result == 0 && known & (class::KIND | class::ALONE) == class::TCP {
                // SAFETY: the kernel has just read the same four octets.
                let on = unsafe { (call.r10 as *const u32).read_unaligned() } != 0;
                let bit = if on { class::PROGRAM_NODELAY } else { 0 };
                socket
                    .class
                    .store(known & !class::PROGRAM_NODELAY | bit, Relaxed);
                if !on && writes::policy(caller.shared).sets_nodelay() {
                    kernel::set_option(call.rdi, IPPROTO_TCP, kernel::TCP_NODELAY, 1);
                }
            }
            call.rax = result;
            Next::Made
        }
        (IPPROTO_TCP, kernel::TCP_CORK | kernel::TCP_ULP | kernel::TCP_REPAIR) => {
            let known = known(caller.shared, call.rdi, socket);
            flush::one(caller.shared, call.rdi, Cause::Descriptor);
            socket.class.store(known | class::ALONE, Relaxed);
            Next::Go
        }
        _ => Next::Go,
    }
}

/// `getsockopt`: shows for `TCP_NODELAY` what the program set.
pub(crate) fn get_option(caller: &Caller<'_>, call: &mut Call) -> Next {
    if (call.rsi, call.rdx) != (IPPROTO_TCP, kernel::TCP_NODELAY) {
        return Next::Go;
    }
    let Some(socket) = socket(caller.shared, call.rdi) else {
        return Next::Go;
    };
    let known = known(caller.shared, call.rdi, socket);
    call.rax = call.make();
    if call.rax == 0 && known & (class::KIND | class::ALONE) == class::TCP {
        let shown = u32::from(known & class::PROGRAM_NODELAY != 0);
        // SAFETY: the kernel has just written there, and says how much.
        unsafe {
            if (call.r8 as *const u32).read_unaligned() == 4 {
                (call.r10 as *mut u32).write_unaligned(shown);
            }
        }
    }
    Next::Made
}
