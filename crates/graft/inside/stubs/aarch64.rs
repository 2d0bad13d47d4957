//! aarch64: Go programs only. It was compiled and never run, so the command refuses such programs.

use core::arch::naked_asm;

use crate::cells::graft_cells;
use crate::entry::{on_call, on_futex};
use crate::machine::nr;

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
