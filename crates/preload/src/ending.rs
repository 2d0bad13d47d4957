//! The last exit handler, and the exit code that it is called with.

pub(crate) use c_library::at_exit;

/// glibc tells a handler the exit code, by on_exit(3).
#[cfg(target_env = "gnu")]
mod c_library {
    use libc::{c_int, c_void};

    unsafe extern "C" {
        fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    /// Calls `last` when the program ends by `exit` or returns from `main`.
    pub(crate) fn at_exit(last: fn(Option<c_int>)) {
        // SAFETY: the handler outlives the program, and takes a function of the type that is passed.
        unsafe { on_exit(handler, last as *mut c_void) };
    }

    extern "C" fn handler(status: c_int, last: *mut c_void) {
        // SAFETY: `at_exit` passed it.
        let last = unsafe { std::mem::transmute::<*mut c_void, fn(Option<c_int>)>(last) };
        last(Some(status));
    }
}

/// musl has no such function. So the two ways to an end are hooked: `exit`, and the start of the program, whose `main` is
/// called from here.
#[cfg(not(target_env = "gnu"))]
mod c_library {
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

    use libc::{c_char, c_int, c_void};

    use crate::next::interpose;

    type Main = extern "C-unwind" fn(c_int, *const *const c_char, *const *const c_char) -> c_int;

    /// What to call at the end.
    static LAST: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    /// The program's own `main`.
    static MAIN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    /// The exit code, plus `KNOWN`; 0 until it is known.
    static STATUS: AtomicU64 = AtomicU64::new(0);
    const KNOWN: u64 = 1 << 32;

    interpose! {
        fn exit(status: c_int) -> ! {
            know(status);
            unsafe { exit::next(status) }
        }

        fn __libc_start_main(
            main: *mut c_void, count: c_int, arguments: *const *const c_char, begin: *mut c_void, end: *mut c_void,
            linker: *mut c_void,
        ) -> c_int {
            MAIN.store(main, SeqCst);
            unsafe { __libc_start_main::next(instead_of_main as *mut c_void, count, arguments, begin, end, linker) }
        }
    }

    extern "C-unwind" fn instead_of_main(
        count: c_int,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int {
        // SAFETY: the start of the program passed its `main`.
        let main = unsafe { std::mem::transmute::<*mut c_void, Main>(MAIN.load(SeqCst)) };
        let status = main(count, arguments, environment);
        know(status);
        status
    }

    fn know(status: c_int) {
        STATUS.store(KNOWN | u64::from(status as u32), SeqCst);
    }

    /// Calls `last` when the program ends by `exit` or returns from `main`.
    pub(crate) fn at_exit(last: fn(Option<c_int>)) {
        LAST.store(last as *mut c_void, SeqCst);
        // SAFETY: the handler outlives the program.
        unsafe { libc::atexit(handler) };
    }

    extern "C" fn handler() {
        // SAFETY: `at_exit` stored it before.
        let last =
            unsafe { std::mem::transmute::<*mut c_void, fn(Option<c_int>)>(LAST.load(SeqCst)) };
        let status = STATUS.load(SeqCst);
        last((status & KNOWN != 0).then_some(status as u32 as c_int));
    }
}
