//! aarch64: Go programs only. It was compiled and never run, so the command refuses such programs.

use core::arch::asm;

use crate::cells::graft_cells;

/// The numbers of the system calls that matter here.
pub(crate) mod nr {
    pub(crate) const EPOLL_PWAIT: u64 = 22;
    pub(crate) const DUP3: u64 = 24;
    pub(crate) const FCNTL: u64 = 25;
    pub(crate) const CLOSE: u64 = 57;
    pub(crate) const LSEEK: u64 = 62;
    pub(crate) const READ: u64 = 63;
    pub(crate) const WRITE: u64 = 64;
    pub(crate) const READV: u64 = 65;
    pub(crate) const WRITEV: u64 = 66;
    pub(crate) const SENDFILE: u64 = 71;
    pub(crate) const PSELECT6: u64 = 72;
    pub(crate) const PPOLL: u64 = 73;
    pub(crate) const SPLICE: u64 = 76;
    pub(crate) const WAITID: u64 = 95;
    pub(crate) const FUTEX: u64 = 98;
    pub(crate) const NANOSLEEP: u64 = 101;
    pub(crate) const CLOCK_NANOSLEEP: u64 = 115;
    pub(crate) const PRCTL: u64 = 167;
    pub(crate) const GETPID: u64 = 172;
    pub(crate) const GETTID: u64 = 178;
    pub(crate) const LISTEN: u64 = 201;
    pub(crate) const CONNECT: u64 = 203;
    pub(crate) const GETSOCKNAME: u64 = 204;
    pub(crate) const GETPEERNAME: u64 = 205;
    pub(crate) const SENDTO: u64 = 206;
    pub(crate) const RECVFROM: u64 = 207;
    pub(crate) const SETSOCKOPT: u64 = 208;
    pub(crate) const GETSOCKOPT: u64 = 209;
    pub(crate) const SHUTDOWN: u64 = 210;
    pub(crate) const SENDMSG: u64 = 211;
    pub(crate) const RECVMSG: u64 = 212;
    pub(crate) const EXECVE: u64 = 221;
    pub(crate) const WAIT4: u64 = 260;
    pub(crate) const SENDMMSG: u64 = 269;
    pub(crate) const PROCESS_VM_READV: u64 = 270;
    pub(crate) const SECCOMP: u64 = 277;
    pub(crate) const EXECVEAT: u64 = 281;
    pub(crate) const IO_URING_SETUP: u64 = 425;
    // This processor's Linux does not have these, so no program makes them.
    pub(crate) const POLL: u64 = NONE;
    pub(crate) const SELECT: u64 = NONE + 1;
    pub(crate) const PAUSE: u64 = NONE + 2;
    pub(crate) const EPOLL_WAIT: u64 = NONE + 3;
    pub(crate) const DUP2: u64 = NONE + 4;
    const NONE: u64 = 1 << 32;
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
            "svc 0",
            in("x8") number, inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// As [`call`], but by the SVC of Go's own `Syscall6`: so a profile that the program makes of itself shows what it
/// always shows.
///
/// # Safety
/// The arguments must be valid for the call.
pub(crate) unsafe fn call_of_go(number: u64, arguments: [u64; 6]) -> u64 {
    let [a, b, c, d, e, f] = arguments;
    let (result, errno): (u64, u64);
    // SAFETY: what follows the SVC writes its results where its caller has room for arguments and results (ABI0), and
    // changes no other register than a call may. The cells were written before this code ran.
    unsafe {
        asm!(
            "adrp x16, {cells}",
            "add x16, x16, :lo12:{cells}",
            "ldr x16, [x16, #8]",
            "sub sp, sp, #96",
            "blr x16",
            "ldr x0, [sp, #64]",
            "ldr x1, [sp, #80]",
            "add sp, sp, #96",
            cells = sym graft_cells,
            in("x8") number, inlateout("x0") a => result, inlateout("x1") b => errno,
            in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            clobber_abi("C"),
        );
    }
    if errno == 0 {
        result
    } else {
        errno.wrapping_neg()
    }
}

/// Returns the generic timer's counter.
pub(crate) fn ticks() -> u64 {
    let ticks;
    // SAFETY: Linux lets programs read it.
    unsafe { asm!("mrs {ticks}, cntvct_el0", ticks = out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Ends the program where it would otherwise go on with a broken assumption.
pub(crate) fn trap() -> ! {
    // SAFETY: nothing follows.
    unsafe { asm!("udf #0", options(noreturn)) }
}
