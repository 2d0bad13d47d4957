//! Where the system calls of a program in C arrive: by a jump in musl's one place, by the call of its
//! `__syscall_cp_asm`, or from the thunks of glibc's places.

use crate::cells::graft_cells;
use crate::in_c::on_c_call;
use crate::machine::{BELOW_64, nr};

/// The calls below 64 that matter in C, one bit each: those that matter in Go, and `accept`.
const LOW: u64 = BELOW_64 | 1 << nr::ACCEPT;

/// Goes on behind it if the call whose number is in this register may matter here; if not, at 4, where the jump back is.
macro_rules! if_it_matters {
    ($number:literal) => {
        concat!(
            "mov r11, {low}\n",
            "cmp ",
            $number,
            ", 63\n",
            "ja 2f\n",
            "bt r11, ",
            $number,
            "\n",
            "jc 3f\n",
            "4:\n",
            "jmp qword ptr [rip + {cells} + 32]\n",
            "2:\n",
            "cmp ",
            $number,
            ", {futex}\n",
            "je 3f\n",
            "cmp ",
            $number,
            ", {clock_nanosleep}\n",
            "jb 4b\n",
            "cmp ",
            $number,
            ", {execveat}\n",
            "ja 4b\n",
            "3:\n",
            // A child has the shared memory, too, but not the descriptors.
            "mov r11, [rip + {cells} + 40]\n",
            "cmp dword ptr [r11], 0\n",
            "je 4b",
        )
    };
}

/// Pushes the registers as a [`Call`](crate::call::Call), below RBX, which becomes the thread pointer.
macro_rules! save {
    () => {
        "push rbx
         mov rbx, fs:[0]
         push rbx
         push r9
         push r8
         push r10
         push rdx
         push rsi
         push rdi
         push rax"
    };
}

/// Takes back what `save` has pushed.
macro_rules! restore {
    () => {
        "pop rax
         pop rdi
         pop rsi
         pop rdx
         pop r10
         pop r8
         pop r9
         pop rbx
         pop rbx"
    };
}

/// Asks what becomes of the call that was pushed last. The answer is in EAX.
macro_rules! ask {
    () => {
        "mov rdi, rsp
         mov rsi, [rip + {cells}]
         mov rbx, rsp
         and rsp, -16
         call {on_call}
         mov rsp, rbx"
    };
}

/// The stub for musl's `__syscall_cp_c`, through which its calls pass that may wait.
///
/// # Safety
/// Only musl's `__syscall_cp_c` may jump here, from its first instruction.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_musl_syscall() {
    core::arch::naked_asm!(
        // The number and a1 to a6 are in RDI, RSI, RDX, RCX, R8, R9 and on the stack.
        "mov rax, rdi",
        "mov r10, r8",
        "mov rdi, rsi",
        "mov r8, r9",
        "mov rsi, rdx",
        "mov r9, [rsp + 8]",
        "mov rdx, rcx",
        if_it_matters!("rax"),
        save!(),
        ask!(),
        "mov r11d, eax",
        restore!(),
        "test r11d, r11d",
        "jz 4b",
        "ret",
        low = const LOW,
        futex = const nr::FUTEX,
        clock_nanosleep = const nr::CLOCK_NANOSLEEP,
        execveat = const nr::EXECVEAT,
        cells = sym graft_cells,
        on_call = sym on_c_call,
    )
}

/// The stub for the call of musl's `__syscall_cp_asm`. All but what the rule makes itself goes on to that function, which
/// looks first whether the thread is to be cancelled.
///
/// # Safety
/// Only musl's `__syscall_cp_c` may call here, instead of `__syscall_cp_asm`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_musl_cancellable() {
    core::arch::naked_asm!(
        // RDI is the address of the word that is not 0 in a thread that is to be cancelled. The number and a1 to a6
        // are in RSI, RDX, RCX, R8, R9 and on the stack.
        "cmp dword ptr [rdi], 0",
        "jne 4f",
        if_it_matters!("rsi"),
        "push rbx",
        "push rdi",
        "push qword ptr fs:[0]",
        "push qword ptr [rsp + 40]",
        "push qword ptr [rsp + 40]",
        "push r9",
        "push r8",
        "push rcx",
        "push rdx",
        "push rsi",
        ask!(),
        "mov r11d, eax",
        "pop rsi",
        "pop rdx",
        "pop rcx",
        "pop r8",
        "pop r9",
        // The last two arguments stay as they are on the caller's stack.
        "add rsp, 24",
        "pop rdi",
        "pop rbx",
        "test r11d, r11d",
        "jz 4b",
        "mov rax, rsi",
        "ret",
        low = const LOW,
        futex = const nr::FUTEX,
        clock_nanosleep = const nr::CLOCK_NANOSLEEP,
        execveat = const nr::EXECVEAT,
        cells = sym graft_cells,
        on_call = sym on_c_call,
    )
}

/// The stub for the places of glibc. A thunk for each has made the move that the jump replaced, so that the
/// number is in RAX; R11 is the address of the SYSCALL that makes the call.
///
/// # Safety
/// Only such thunks may jump here.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graft_glibc_syscall() {
    core::arch::naked_asm!(
        // RCX is free, as SYSCALL changes it. A child has the shared memory, too, but not the descriptors.
        "mov rcx, [rip + {cells} + 40]",
        "cmp dword ptr [rcx], 0",
        "je 5f",
        // Over the red zone: the caller may be a function that calls no other.
        "sub rsp, 128",
        "push r11",
        save!(),
        ask!(),
        "mov ecx, eax",
        restore!(),
        "pop r11",
        "add rsp, 128",
        "test ecx, ecx",
        "jz 5f",
        // What follows the SYSCALL.
        "add r11, 2",
        "5:",
        "jmp r11",
        cells = sym graft_cells,
        on_call = sym on_c_call,
    )
}
