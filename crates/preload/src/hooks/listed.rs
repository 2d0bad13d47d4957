//! `execl`, `execle`, `execlp`: the program's arguments come one by one, and Rust cannot define
//! such a function. Each hook makes a list of them and continues with the variant that takes a
//! list.
//!
//! The first five arguments of the list are in registers, the others on the stack, in order. The
//! return address stands between them; the hook removes it for a while and pushes the registers in
//! its place. Then the whole list is on the stack, ending in the null that the caller wrote.

use std::ffi::{c_char, c_int};

use crate::hooks::process::{execv, execve, execvp};

/// Defines a hook that calls `$with` with the program's name and the list.
macro_rules! listed {
    ($( fn $name:ident => $with:ident; )*) => { $(
        #[cfg_attr(interpose, unsafe(no_mangle))]
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "pop r11",
                ".cfi_adjust_cfa_offset -8",
                ".cfi_register rip, r11",
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                ".cfi_adjust_cfa_offset 40",
                "mov rsi, rsp",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_rel_offset rip, 0",
                "call {with}",
                // Reached only if it could not be executed.
                "pop r11",
                ".cfi_adjust_cfa_offset -8",
                ".cfi_register rip, r11",
                "add rsp, 40",
                ".cfi_adjust_cfa_offset -40",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                ".cfi_rel_offset rip, 0",
                "ret",
                ".cfi_endproc",
                with = sym $with,
            )
        }
    )* };
}

listed! {
    fn execl => with_list;
    fn execlp => with_list_by_path;
    fn execle => with_list_and_environment;
}

unsafe extern "C" fn with_list(path: *const c_char, list: *const *const c_char) -> c_int {
    // SAFETY: what the program passed.
    unsafe { execv(path, list) }
}

unsafe extern "C" fn with_list_by_path(file: *const c_char, list: *const *const c_char) -> c_int {
    // SAFETY: what the program passed.
    unsafe { execvp(file, list) }
}

/// The environment follows the null that ends the list.
unsafe extern "C" fn with_list_and_environment(
    path: *const c_char,
    list: *const *const c_char,
) -> c_int {
    // SAFETY: what the program passed.
    unsafe {
        let mut end = list;
        while !(*end).is_null() {
            end = end.add(1);
        }
        let environment = end.add(1).cast::<*const *const c_char>().read();
        execve(path, list, environment)
    }
}
