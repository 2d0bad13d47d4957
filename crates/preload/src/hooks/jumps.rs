//! Functions that a hook cannot call but only jump to: those with variable arguments, and those
//! that return twice or on another stack. Each hook notes what is about to happen and continues
//! with the registers and the stack as it found them.

use libc::{c_int, c_long, c_ulong};

use crate::hooks::descriptors::{before_close_range, before_end};
use crate::hooks::process::{before_exec, before_fork};
use crate::keeper;
use crate::next::Symbol;
use crate::thread;

/// Defines a hook that calls `$before` with the program's arguments; `$before` returns the address
/// to continue at.
macro_rules! jump {
    ($( $(#[$meta:meta])* fn $name:ident => $before:ident; )*) => { $(
        $(#[$meta])*
        #[cfg_attr(interpose, unsafe(no_mangle))]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 72",
                ".cfi_adjust_cfa_offset 72",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov [rsp + 48], rax",
                "call {before}",
                "mov r11, rax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "mov r8, [rsp + 32]",
                "mov r9, [rsp + 40]",
                "mov rax, [rsp + 48]",
                "add rsp, 72",
                ".cfi_adjust_cfa_offset -72",
                "jmp r11",
                ".cfi_endproc",
                before = sym $before,
            )
        }
    )* };
}

jump! {
    fn syscall => before_syscall;
    /// Leaves no frame of the hook: the child runs on its parent's stack until it executes.
    fn vfork => before_vfork;
    fn clone => before_clone;
}

extern "C" fn before_syscall(
    number: c_long,
    first: c_ulong,
    second: c_ulong,
    third: c_ulong,
) -> usize {
    static SYMBOL: Symbol = Symbol::new(c"syscall", None);
    match number {
        libc::SYS_futex if waits(second as c_int) => keeper::before_sleep(),
        // Programs that bypass the C library, mostly language runtimes.
        libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_nanosleep
        | libc::SYS_sched_yield
        | libc::SYS_clock_nanosleep
        | libc::SYS_io_uring_enter
        | libc::SYS_io_getevents
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_connect
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_pause
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_rt_sigsuspend => {
            keeper::before_sleep();
        }
        libc::SYS_close => before_end(first as c_int),
        libc::SYS_close_range => before_close_range(first as u32, second as u32, third as c_int),
        libc::SYS_dup2 | libc::SYS_dup3 => before_end(second as c_int),
        libc::SYS_fork | libc::SYS_vfork | libc::SYS_clone | libc::SYS_clone3 => before_fork(),
        libc::SYS_execve | libc::SYS_execveat => before_exec(),
        libc::SYS_exit_group => crate::hooks::process::before_end(),
        libc::SYS_exit => crate::hooks::process::before_thread_end(),
        libc::SYS_seccomp => keeper::become_inert(),
        libc::SYS_prctl if first as c_int == libc::PR_SET_SECCOMP => keeper::become_inert(),
        libc::SYS_unshare | libc::SYS_setns => crate::watchdog::stop(),
        _ => {}
    }
    SYMBOL.address() as usize
}

fn waits(operation: c_int) -> bool {
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    matches!(
        command,
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI
    )
}

extern "C" fn before_vfork() -> usize {
    static SYMBOL: Symbol = Symbol::new(c"vfork", None);
    before_fork();
    // SAFETY: no argument, cannot fail.
    thread::this().lend(unsafe { libc::getpid() });
    SYMBOL.address() as usize
}

extern "C" fn before_clone() -> usize {
    static SYMBOL: Symbol = Symbol::new(c"clone", None);
    before_fork();
    SYMBOL.address() as usize
}
