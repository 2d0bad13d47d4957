//! What the code is told of the program that it is in.

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
    /// Go's `runtime.usleep`: what follows the replaced instruction.
    usleep: u64,
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
    usleep: 0,
};
