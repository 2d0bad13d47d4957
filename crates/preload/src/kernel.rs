//! The few system calls that the library makes for itself, without hooks.

use std::sync::atomic::AtomicU32;

use libc::{c_int, c_long, c_void, socklen_t};

use crate::next::{Symbol, definition};

definition!(close = close(fd: c_int) -> c_int);
definition!(read = read(fd: c_int, buffer: *mut c_void, len: usize) -> isize);
definition!(fcntl = fcntl(fd: c_int, command: c_int, argument: usize) -> c_int);
definition!(poll = poll(entries: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int);
definition!(getsockopt = getsockopt(
    fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t,
) -> c_int);
definition!(setsockopt = setsockopt(
    fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t,
) -> c_int);
definition!(pthread_join = pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int);

/// Sets an integer socket option; returns whether that worked.
pub(crate) fn set_option(fd: c_int, level: c_int, name: c_int, value: c_int) -> bool {
    // SAFETY: the kernel reads one integer.
    unsafe {
        setsockopt(
            fd,
            level,
            name,
            (&raw const value).cast(),
            size_of::<c_int>() as socklen_t,
        ) == 0
    }
}

/// Reads a socket option into `value`; returns its length, or `None` if there is no such option.
pub(crate) fn read_option<T>(fd: c_int, level: c_int, name: c_int, value: &mut T) -> Option<usize> {
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, and every caller passes plain integers.
    let failed = unsafe {
        getsockopt(
            fd,
            level,
            name,
            std::ptr::from_mut(value).cast(),
            &raw mut length,
        )
    };
    (failed == 0).then_some(length as usize)
}

/// Reads an integer socket option.
pub(crate) fn option(fd: c_int, level: c_int, name: c_int) -> Option<c_int> {
    let mut value = 0;
    read_option(fd, level, name, &mut value).map(|_| value)
}

/// Makes a `FUTEX_WAIT` or `FUTEX_WAKE` within this process.
pub(crate) fn futex(
    word: &AtomicU32,
    operation: c_int,
    value: u32,
    timeout: Option<&libc::timespec>,
) {
    let timeout: *const libc::timespec = timeout.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the pointers outlive the call.
    unsafe {
        syscall()(
            libc::SYS_futex,
            word.as_ptr(),
            operation | libc::FUTEX_PRIVATE_FLAG,
            value,
            timeout,
        );
    }
}

/// Makes a `FUTEX_WAIT` or `FUTEX_WAKE` between processes that share a mapping.
pub(crate) fn futex_shared(
    word: &AtomicU32,
    operation: c_int,
    value: u32,
    timeout: Option<&libc::timespec>,
) {
    let timeout: *const libc::timespec = timeout.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the pointers outlive the call.
    unsafe { syscall()(libc::SYS_futex, word.as_ptr(), operation, value, timeout) };
}

/// Returns whether the calling thread has a filter of system calls.
pub(crate) fn is_filtered() -> bool {
    // SAFETY: asks, changes nothing.
    unsafe { libc::prctl(libc::PR_GET_SECCOMP) != 0 }
}

/// Sets a filter for the calling thread that forbids nothing.
#[cfg(test)]
pub(crate) fn allow_everything() {
    const RETURN: u16 = 0x06;
    const SECCOMP_RET_ALLOW: u32 = 0x7fff_0000;
    let mut allow = libc::sock_filter {
        code: RETURN,
        jt: 0,
        jf: 0,
        k: SECCOMP_RET_ALLOW,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut allow,
    };
    // SAFETY: a program of one instruction, which the kernel copies.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        );
        assert_eq!(set, 0);
    }
}

/// Copies this process's own memory from `address` on into `into`; returns how much was there.
/// Missing memory causes no fault.
pub(crate) fn own_memory(address: u64, into: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let own = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: into.len(),
    };
    // SAFETY: only `into` is written to. The caller takes care of `errno`.
    let copied = unsafe {
        syscall()(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            &raw const local,
            1_usize,
            &raw const own,
            1_usize,
            0_usize,
        )
    };
    usize::try_from(copied).unwrap_or(0)
}

/// Returns the kernel's id of the calling thread. glibc has a function for it since 2.30 only.
pub(crate) fn thread_id() -> c_int {
    call(libc::SYS_gettid, [0; 3]) as c_int
}

/// Makes a system call for which the C library has no function, with plain integers; returns -1 and
/// sets `errno` if it fails.
pub(crate) fn call(number: c_long, [first, second, third]: [c_long; 3]) -> c_long {
    // SAFETY: only for calls whose arguments are not addresses.
    unsafe { syscall()(number, first, second, third) }
}

pub(crate) type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;

/// Returns the C library's `syscall`, not the hook of that name.
pub(crate) fn syscall() -> Syscall {
    static SYSCALL: Symbol = Symbol::new(c"syscall", None);
    // SAFETY: the symbol has that type.
    unsafe { std::mem::transmute::<*mut c_void, Syscall>(SYSCALL.address()) }
}
