//! The calling thread's `errno`. A hook must leave it as the program's own call set it.

/// Returns it.
pub(crate) fn get() -> i32 {
    // SAFETY: always a valid pointer to the calling thread's own integer.
    unsafe { *libc::__errno_location() }
}

/// Sets it.
pub(crate) fn set(value: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}

/// Runs `work` and then restores `errno`.
pub(crate) fn kept<T>(work: impl FnOnce() -> T) -> T {
    let before = get();
    let result = work();
    set(before);
    result
}
