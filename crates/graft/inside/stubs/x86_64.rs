//! x86-64.

use core::mem::offset_of;

use crate::cells::graft_cells;
use crate::entry::{on_call, on_futex, on_usleep};
use crate::layout::{Monitor, Shared};
use crate::machine::{BELOW_64, nr};

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

/// Octets that must be free on the stack: the 400 that `tests/object.rs` allows, and what a call adds.
const ROOM: u64 = 448;
