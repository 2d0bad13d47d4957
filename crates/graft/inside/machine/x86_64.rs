//! x86-64.

use core::arch::asm;
use core::mem::offset_of;

use crate::entry::{graft_cells, on_call, on_futex, on_usleep};
use crate::kernel::Arguments;
use crate::layout::{Monitor, Shared};

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

/// The stub for Go's `Syscall6`.
///
/// # Safety
/// Only Go's `Syscall6` may jump here.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_go_syscall() {
    core::arch::naked_asm!(
        // Go's ABIInternal passes a1 to a6 in BX, CX, DI, SI, R8, R9.
        "mov r10, rsi",
        "mov rdx, rdi",
        "mov rsi, rcx",
        "mov rdi, rbx",
        "mov r11, {low}",
        "cmp rax, 63",
        "ja 2f",
        "bt r11, rax",
        "jc 3f",
        "4:",
        "jmp qword ptr [rip + {cells} + 8]",
        "2:",
        "cmp rax, {prctl}",
        "je 3f",
        "cmp rax, {fcntl}",
        "je 3f",
        "cmp rax, {clock_nanosleep}",
        "jb 4b",
        "cmp rax, {execveat}",
        "jbe 3f",
        "cmp rax, {io_uring_setup}",
        "jne 4b",
        "3:",
        // Is there room on the goroutine's stack, whose low end is [R14]?
        "test r14, r14",
        "jz 4b",
        "mov r11, rsp",
        "sub r11, [r14]",
        "cmp r11, {room}",
        "jb 4b",
        "push r14",
        "push r9",
        "push r8",
        "push r10",
        "push rdx",
        "push rsi",
        "push rdi",
        "push rax",
        "mov rdi, rsp",
        "mov rsi, [rip + {cells}]",
        "mov rbx, rsp",
        "and rsp, -16",
        "call {on_call}",
        "mov rsp, rbx",
        "mov r11d, eax",
        "pop rax",
        "pop rdi",
        "pop rsi",
        "pop rdx",
        "pop r10",
        "pop r8",
        "pop r9",
        "pop r14",
        "test r11d, r11d",
        "jz 4b",
        "jmp qword ptr [rip + {cells} + 16]",
        low = const BELOW_64,
        prctl = const nr::PRCTL,
        fcntl = const nr::FCNTL,
        clock_nanosleep = const nr::CLOCK_NANOSLEEP,
        execveat = const nr::EXECVEAT,
        io_uring_setup = const nr::IO_URING_SETUP,
        room = const ROOM,
        cells = sym graft_cells,
        on_call = sym on_call,
    )
}

/// The stub for Go's `runtime.futex`.
///
/// # Safety
/// Only `runtime.futex` may jump here.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_go_futex() {
    core::arch::naked_asm!(
        // ABI0: the arguments are on the stack, the operation at +16; FUTEX_WAIT is 0, FUTEX_WAKE 1.
        "mov edx, [rsp + 16]",
        "and edx, 0x7f",
        "cmp edx, 1",
        "ja 6f",
        "test r14, r14",
        "jz 6f",
        "mov r11, rsp",
        "sub r11, [r14]",
        "cmp r11, {room}",
        "jb 6f",
        // The call itself keeps RBP and RBX; ABI0 preserves nothing else.
        "mov rcx, [rsp + 8]",
        "push rbx",
        "mov rdi, r14",
        "mov rsi, [rip + {cells}]",
        "mov rbx, rsp",
        "and rsp, -16",
        "call {on_futex}",
        "mov rsp, rbx",
        "pop rbx",
        "6:",
        "mov rdi, [rsp + 8]",
        "jmp qword ptr [rip + {cells} + 24]",
        room = const ROOM,
        cells = sym graft_cells,
        on_futex = sym on_futex,
    )
}

/// The stub for Go's `runtime.usleep`, behind its prologue.
///
/// # Safety
/// Only `runtime.usleep` may jump here.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_go_usleep() {
    core::arch::naked_asm!(
        // ABI0: the microseconds are on the stack, here at +32. Nobody but the monitor sleeps for 20.
        "mov r11, [rip + {cells}]",
        "mov edx, [rsp + 32]",
        "cmp r14, [r11 + {monitor}]",
        "je 7f",
        "cmp edx, 20",
        "jne 8f",
        "7:",
        "test r14, r14",
        "jz 8f",
        "mov rcx, rsp",
        "sub rcx, [r14]",
        "cmp rcx, {room}",
        "jb 8f",
        "push rbx",
        "mov rdi, r14",
        "mov rsi, r11",
        "mov rbx, rsp",
        "and rsp, -16",
        "call {on_usleep}",
        "mov rsp, rbx",
        "pop rbx",
        "8:",
        "mov edx, 0",
        "jmp qword ptr [rip + {cells} + 48]",
        monitor = const offset_of!(Shared, monitor) + offset_of!(Monitor, task),
        room = const ROOM,
        cells = sym graft_cells,
        on_usleep = sym on_usleep,
    )
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
/// Octets that must be free on the stack: the 400 that `tests/object.rs` allows, and what a call adds.
const ROOM: u64 = 448;
