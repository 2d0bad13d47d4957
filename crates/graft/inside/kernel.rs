//! System calls by number, and the clock.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::entry::graft_cells;
use crate::layout::Shared;

/// The numbers of the system calls of x86-64 that matter here.
pub(crate) mod nr {
    pub(crate) const READ: u64 = 0;
    pub(crate) const WRITE: u64 = 1;
    pub(crate) const CLOSE: u64 = 3;
    pub(crate) const POLL: u64 = 7;
    pub(crate) const LSEEK: u64 = 8;
    pub(crate) const READV: u64 = 19;
    pub(crate) const WRITEV: u64 = 20;
    pub(crate) const SELECT: u64 = 23;
    pub(crate) const DUP2: u64 = 33;
    pub(crate) const PAUSE: u64 = 34;
    pub(crate) const NANOSLEEP: u64 = 35;
    pub(crate) const GETPID: u64 = 39;
    pub(crate) const SENDFILE: u64 = 40;
    pub(crate) const CONNECT: u64 = 42;
    pub(crate) const ACCEPT: u64 = 43;
    pub(crate) const SENDTO: u64 = 44;
    pub(crate) const RECVFROM: u64 = 45;
    pub(crate) const SENDMSG: u64 = 46;
    pub(crate) const RECVMSG: u64 = 47;
    pub(crate) const SHUTDOWN: u64 = 48;
    pub(crate) const LISTEN: u64 = 50;
    pub(crate) const GETSOCKNAME: u64 = 51;
    pub(crate) const GETPEERNAME: u64 = 52;
    pub(crate) const SETSOCKOPT: u64 = 54;
    pub(crate) const GETSOCKOPT: u64 = 55;
    pub(crate) const EXECVE: u64 = 59;
    pub(crate) const WAIT4: u64 = 61;
    pub(crate) const FCNTL: u64 = 72;
    pub(crate) const PRCTL: u64 = 157;
    pub(crate) const GETTID: u64 = 186;
    pub(crate) const FUTEX: u64 = 202;
    pub(crate) const CLOCK_NANOSLEEP: u64 = 230;
    pub(crate) const EPOLL_WAIT: u64 = 232;
    pub(crate) const WAITID: u64 = 247;
    pub(crate) const PSELECT6: u64 = 270;
    pub(crate) const PPOLL: u64 = 271;
    pub(crate) const SPLICE: u64 = 275;
    pub(crate) const EPOLL_PWAIT: u64 = 281;
    pub(crate) const ACCEPT4: u64 = 288;
    pub(crate) const DUP3: u64 = 292;
    pub(crate) const SENDMMSG: u64 = 307;
    pub(crate) const PROCESS_VM_READV: u64 = 310;
    pub(crate) const SECCOMP: u64 = 317;
    pub(crate) const EXECVEAT: u64 = 322;
    pub(crate) const IO_URING_SETUP: u64 = 425;
}

pub(crate) const EAGAIN: u64 = 11_u64.wrapping_neg();
pub(crate) const ENOTSOCK: u64 = 88_u64.wrapping_neg();
pub(crate) const MSG_DONTWAIT: u64 = 0x40;
pub(crate) const MSG_NOSIGNAL: u64 = 0x4000;
pub(crate) const MSG_MORE: u64 = 0x8000;
pub(crate) const SOL_SOCKET: u64 = 1;
pub(crate) const SO_PROTOCOL: u64 = 38;
const SO_SNDTIMEO: u64 = 21;
pub(crate) const IPPROTO_TCP: u64 = 6;
pub(crate) const TCP_NODELAY: u64 = 1;
pub(crate) const TCP_CORK: u64 = 3;
pub(crate) const TCP_INFO: u64 = 11;
pub(crate) const TCP_REPAIR: u64 = 19;
pub(crate) const TCP_ULP: u64 = 31;
pub(crate) const F_GETFL: u64 = 3;
pub(crate) const F_SETFL: u64 = 4;
pub(crate) const O_NONBLOCK: u64 = 0o4000;
pub(crate) const SEEK_CUR: u64 = 1;
pub(crate) const PR_SET_SECCOMP: u64 = 22;
pub(crate) const PR_SET_DUMPABLE: u64 = 4;
pub(crate) const FUTEX_WAKE: u64 = 1;
const POLLOUT: u32 = 4;
const POLLERR: u32 = 8;
const POLLHUP: u32 = 16;

/// A system call's arguments, in the order of the kernel's.
pub(crate) type Arguments = [u64; 6];

/// Makes a system call.
///
/// # Safety
/// The arguments must be valid for the call.
#[inline(always)]
pub(crate) unsafe fn call(number: u64, arguments: Arguments) -> u64 {
    let result;
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, inlateout("rdx") c => _, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// As [`call`], but by the SYSCALL of Go's own `Syscall6`, where there is one: so a profile that the program
/// makes of itself shows what it always shows.
///
/// # Safety
/// The arguments must be valid for the call.
pub(crate) unsafe fn call_of_go(number: u64, arguments: Arguments) -> u64 {
    let there: u64;
    // By its distance, as the stubs do: the object is not relocated.
    // SAFETY: reads the second of the cells, which were written before this code ran.
    unsafe {
        asm!(
            "mov {there}, [rip + {cells} + 8]",
            there = out(reg) there,
            cells = sym graft_cells,
            options(nostack, readonly, preserves_flags),
        );
    }
    if there == NONE {
        // SAFETY: the caller's.
        return unsafe { call(number, arguments) };
    }
    let [a, b, c, d, e, f] = arguments;
    let (result, errno): (u64, u64);
    // SAFETY: what follows the SYSCALL returns two results in RAX and RBX, and an error's number in RCX.
    unsafe {
        asm!(
            "push rbx",
            "call {there}",
            "pop rbx",
            there = in(reg) there,
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, inlateout("rdx") c => _, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") errno, lateout("r11") _,
        );
    }
    if errno == 0 {
        result
    } else {
        errno.wrapping_neg()
    }
}

/// [`graft_cells`]' address of Go's SYSCALL in a program that has none.
const NONE: u64 = 0;

/// Returns the word at an address, if it can be read; without a fault if not.
pub(crate) fn word_at(address: u64) -> Option<u64> {
    let mut word = 0_u64;
    let local = [&raw mut word as u64, 8];
    let remote = [address, 8];
    // SAFETY: asks for a number.
    let own = unsafe { call(nr::GETPID, [0; 6]) };
    let (local_at, remote_at) = (local.as_ptr() as u64, remote.as_ptr() as u64);
    let arguments = [own, local_at, 1, remote_at, 1, 0];
    // SAFETY: the kernel writes at most eight octets to the word.
    let read = unsafe { call(nr::PROCESS_VM_READV, arguments) };
    (read == 8).then_some(word)
}

/// Returns whether a result is an error.
pub(crate) fn failed(result: u64) -> bool {
    result > u64::MAX - 4096
}

/// Returns an integer option of a socket.
pub(crate) fn option(fd: u64, level: u64, name: u64) -> Result<u32, ()> {
    let mut value = 0_u32;
    let mut length = 4_u32;
    let (value_at, length_at) = (&raw mut value as u64, &raw mut length as u64);
    // SAFETY: the kernel writes at most four octets to each.
    let result = unsafe { call(nr::GETSOCKOPT, [fd, level, name, value_at, length_at, 0]) };
    if failed(result) { Err(()) } else { Ok(value) }
}

/// Waits until a socket that blocks has room. Returns false if it does not block, if there is no room for as long as it
/// waits (`SO_SNDTIMEO`), if there is an error, or if a signal comes.
pub(crate) fn waits_for_room(fd: u64) -> bool {
    // SAFETY: reads the descriptor's flags.
    let flags = unsafe { call(nr::FCNTL, [fd, F_GETFL, 0, 0, 0, 0]) };
    if failed(flags) || flags & O_NONBLOCK != 0 {
        return false;
    }
    // Seconds and microseconds; both 0: without end.
    let mut timeout = [0_u64; 2];
    let mut length = 16_u32;
    let (timeout_at, length_at) = (&raw mut timeout as u64, &raw mut length as u64);
    let arguments = [fd, SOL_SOCKET, SO_SNDTIMEO, timeout_at, length_at, 0];
    // SAFETY: the kernel writes at most 16 and four octets.
    unsafe { call(nr::GETSOCKOPT, arguments) };
    let [seconds, us] = timeout;
    let seconds_ms = seconds.saturating_mul(1_000);
    let wait_ms = match seconds_ms.saturating_add(us.div_ceil(1_000)) {
        0 => u64::MAX,
        ms => ms.min(i32::MAX as u64),
    };
    // `struct pollfd`: the descriptor, what is asked for and, in the upper half, what is found.
    let mut asked = [fd as u32, POLLOUT];
    // SAFETY: the kernel writes to the last two octets.
    let found = unsafe { call(nr::POLL, [&raw mut asked as u64, 1, wait_ms, 0, 0, 0]) };
    found == 1 && (asked[1] >> 16) & (POLLERR | POLLHUP) == 0
}

/// Sets an integer option of a socket.
pub(crate) fn set_option(fd: u64, level: u64, name: u64, value: u32) {
    let value_at = &raw const value as u64;
    // SAFETY: the kernel reads four octets.
    let _ = unsafe { call_of_go(nr::SETSOCKOPT, [fd, level, name, value_at, 4, 0]) };
}

/// Wakes one thread, of any process, that sleeps on `word`; returns how many slept.
pub(crate) fn wake(word: &AtomicU32) -> u64 {
    // SAFETY: the kernel uses the address as a name.
    unsafe { call(nr::FUTEX, [word.as_ptr() as u64, FUTEX_WAKE, 1, 0, 0, 0]) }
}

/// Returns the processor's time stamp counter in nanoseconds; never 0.
pub(crate) fn now_ns(shared: &Shared) -> u64 {
    // SAFETY: every processor of x86-64 has the instruction.
    let ticks = unsafe { core::arch::x86_64::_rdtsc() };
    let scaled = u128::from(ticks) * u128::from(shared.ns_per_2_32_ticks.load(Relaxed));
    ((scaled >> 32) as u64).max(1)
}
