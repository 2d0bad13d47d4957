//! x86-64.

use core::arch::asm;

use crate::cells::graft_cells;

/// The numbers of the system calls that matter here.
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

/// Makes a system call.
///
/// # Safety
/// The arguments must be valid for the call.
#[inline(always)]
pub(crate) unsafe fn call(number: u64, arguments: [u64; 6]) -> u64 {
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
pub(crate) unsafe fn call_of_go(number: u64, arguments: [u64; 6]) -> u64 {
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

/// Returns the processor's time stamp counter.
pub(crate) fn ticks() -> u64 {
    // SAFETY: every processor of x86-64 has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Ends the program where it would otherwise go on with a broken assumption.
pub(crate) fn trap() -> ! {
    // SAFETY: nothing follows.
    unsafe { asm!("ud2", options(noreturn)) }
}

/// The calls below 64 that matter, one bit each.
pub(crate) const BELOW_64: u64 = 1 << nr::READ
    | 1 << nr::WRITE
    | 1 << nr::CLOSE
    | 1 << nr::POLL
    | 1 << nr::READV
    | 1 << nr::WRITEV
    | 1 << nr::SELECT
    | 1 << nr::DUP2
    | 1 << nr::PAUSE
    | 1 << nr::NANOSLEEP
    | 1 << nr::SENDFILE
    | 1 << nr::CONNECT
    | 1 << nr::SENDTO
    | 1 << nr::RECVFROM
    | 1 << nr::SENDMSG
    | 1 << nr::RECVMSG
    | 1 << nr::SHUTDOWN
    | 1 << nr::LISTEN
    | 1 << nr::SETSOCKOPT
    | 1 << nr::GETSOCKOPT
    | 1 << nr::EXECVE
    | 1 << nr::WAIT4;
