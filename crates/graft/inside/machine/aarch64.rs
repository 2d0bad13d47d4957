//! aarch64: Go programs only. It was compiled and never run, so the command refuses such programs.

use core::arch::{asm, naked_asm};

use crate::entry::{graft_cells, on_call, on_futex};
use crate::kernel::Arguments;

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
pub(crate) unsafe fn call(number: u64, arguments: Arguments) -> u64 {
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
pub(crate) unsafe fn call_of_go(number: u64, arguments: Arguments) -> u64 {
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

/// The stub for Go's `Syscall6`, in the place of its first instruction.
///
/// # Safety
/// Only Go's `Syscall6` may jump here.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_go_syscall() {
    naked_asm!(
        // ABI0: the number and a1 to a6 are on the stack. X16 and X17 are free in Go, too.
        "ldr x8, [sp, #8]",
        "ldr x0, [sp, #16]",
        "ldr x1, [sp, #24]",
        "ldr x2, [sp, #32]",
        "ldr x3, [sp, #40]",
        "ldr x4, [sp, #48]",
        "ldr x5, [sp, #56]",
        // More calls than matter, in few ranges: `on_call` lets the others go on.
        "cmp x8, {epoll_pwait}",
        "b.lo 4f",
        "cmp x8, {fcntl}",
        "b.ls 3f",
        "cmp x8, {close}",
        "b.lo 4f",
        "cmp x8, {clock_nanosleep}",
        "b.ls 3f",
        "cmp x8, {prctl}",
        "b.eq 3f",
        "cmp x8, {listen}",
        "b.lo 4f",
        "cmp x8, {execveat}",
        "b.ls 3f",
        "cmp x8, {io_uring_setup}",
        "b.eq 3f",
        "4:",
        "adrp x16, {cells}",
        "add x16, x16, :lo12:{cells}",
        "ldr x16, [x16, #8]",
        "br x16",
        "3:",
        // Is there room on the goroutine's stack, whose low end is [X28]?
        "cbz x28, 4b",
        "ldr x16, [x28]",
        "mov x17, sp",
        "sub x17, x17, x16",
        "cmp x17, {room}",
        "b.lo 4b",
        "stp x29, x30, [sp, #-80]!",
        "stp x8, x0, [sp, #16]",
        "stp x1, x2, [sp, #32]",
        "stp x3, x4, [sp, #48]",
        "stp x5, x28, [sp, #64]",
        "add x0, sp, #16",
        "adrp x16, {cells}",
        "add x16, x16, :lo12:{cells}",
        "ldr x1, [x16]",
        "bl {on_call}",
        "mov w17, w0",
        "ldp x8, x0, [sp, #16]",
        "ldp x1, x2, [sp, #32]",
        "ldp x3, x4, [sp, #48]",
        "ldr x5, [sp, #64]",
        "ldp x29, x30, [sp], #80",
        "cbz w17, 4b",
        "mov x0, x8",
        "adrp x16, {cells}",
        "add x16, x16, :lo12:{cells}",
        "ldr x16, [x16, #16]",
        "br x16",
        epoll_pwait = const nr::EPOLL_PWAIT,
        fcntl = const nr::FCNTL,
        close = const nr::CLOSE,
        clock_nanosleep = const nr::CLOCK_NANOSLEEP,
        prctl = const nr::PRCTL,
        listen = const nr::LISTEN,
        execveat = const nr::EXECVEAT,
        io_uring_setup = const nr::IO_URING_SETUP,
        room = const ROOM,
        cells = sym graft_cells,
        on_call = sym on_call,
    )
}

/// The stub for Go's `runtime.futex`, in the place of its first instruction.
///
/// # Safety
/// Only `runtime.futex` may jump here.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_go_futex() {
    naked_asm!(
        // ABI0: the arguments are on the stack, the operation at +16; FUTEX_WAIT is 0, FUTEX_WAKE 1.
        "ldr w2, [sp, #16]",
        "and w2, w2, #0x7f",
        "cmp w2, #1",
        "b.hi 6f",
        "cbz x28, 6f",
        "ldr x16, [x28]",
        "mov x17, sp",
        "sub x17, x17, x16",
        "cmp x17, {room}",
        "b.lo 6f",
        "ldr x3, [sp, #8]",
        "stp x29, x30, [sp, #-16]!",
        "mov x0, x28",
        "adrp x16, {cells}",
        "add x16, x16, :lo12:{cells}",
        "ldr x1, [x16]",
        "bl {on_futex}",
        "ldp x29, x30, [sp], #16",
        "6:",
        "ldr x0, [sp, #8]",
        "adrp x16, {cells}",
        "add x16, x16, :lo12:{cells}",
        "ldr x16, [x16, #24]",
        "br x16",
        room = const ROOM,
        cells = sym graft_cells,
        on_futex = sym on_futex,
    )
}

/// Octets that must be free on the stack: more than on x86-64, as a flush through Go's SVC takes 96 more. How many are
/// used was not counted.
const ROOM: u64 = 704;
