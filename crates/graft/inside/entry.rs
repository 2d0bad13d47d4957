//! Where the program's system calls arrive.
//!
//! The first octets of Go's `Syscall6` and of `runtime.futex` are a jump to the stubs here. A stub
//! makes the moves that the jump replaced and lets everything that does not matter go on to the
//! program's own SYSCALL.

use core::sync::atomic::Ordering::Relaxed;

use crate::kernel::nr;
use crate::layout::{Cause, Inert, Shared};
use crate::thread::Caller;
use crate::{flush, peers, reads, sockets, waits, writes};

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
    task: u64,
}

impl Call {
    /// Makes the call here and now.
    pub(crate) fn make(&self) -> u64 {
        let arguments = [self.a1, self.a2, self.a3, self.a4, self.a5, self.a6];
        // SAFETY: the program's own arguments, for the call that it asked for.
        unsafe { crate::kernel::call_of_go(self.word, arguments) }
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
};

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
        // ABI0: the arguments are on the stack, the operation at +16; FUTEX_WAIT is 0.
        "mov edi, [rsp + 16]",
        "and edi, 0x7f",
        "jnz 6f",
        "test r14, r14",
        "jz 6f",
        "mov r11, rsp",
        "sub r11, [r14]",
        "cmp r11, {room}",
        "jb 6f",
        // The call itself keeps RBP and RBX; ABI0 preserves nothing else.
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

/// Decides what becomes of a call.
extern "sysv64" fn on_call(call: &mut Call, shared: &Shared) -> Next {
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

/// As [`on_call`], for a program in C, whose sockets may block.
pub(crate) extern "sysv64" fn on_c_call(call: &mut Call, shared: &Shared) -> Next {
    if shared.inert.load(Relaxed) != 0 {
        return Next::Go;
    }
    let Some(caller) = Caller::of_thread(call.task, shared) else {
        return Next::Go;
    };
    match call.word {
        nr::READ | nr::RECVFROM | nr::RECVMSG | nr::READV => reads::blocking(&caller, call),
        nr::WRITE | nr::SENDTO => {
            let (number, flags) = (call.word, call.a4);
            match writes::outgoing(&caller, call) {
                Next::Go => writes::made_in_c(&caller, call, number, flags),
                made => made,
            }
        }
        nr::ACCEPT | nr::ACCEPT4 => {
            sockets::accepts(&caller, call.a1);
            waits::before(&caller);
            Next::Go
        }
        nr::FUTEX => {
            let operation = call.a2 & FUTEX_OPERATION;
            if operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET {
                waits::before(&caller);
            }
            Next::Go
        }
        _ => other(&caller, call),
    }
}

const FUTEX_OPERATION: u64 = 0x7f;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;

/// Calls other than reads and writes.
#[inline(always)]
fn other(caller: &Caller<'_>, call: &mut Call) -> Next {
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

/// Sends what the thread holds before it waits for another thread.
extern "sysv64" fn on_futex(goroutine: u64, shared: &Shared) {
    if shared.inert.load(Relaxed) != 0 {
        return;
    }
    // SAFETY: as in `on_call`.
    if let Some(caller) = unsafe { Caller::of_goroutine(goroutine, shared) } {
        waits::before(&caller);
    }
}
