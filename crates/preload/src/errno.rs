//! The calling thread's `errno`, which a hook must leave as the program's own call set it.

/// Reads it.
pub(crate) fn get() -> i32 {
    // SAFETY: always a valid pointer to the calling thread's own integer.
    unsafe { *libc::__errno_location() }
}

/// Writes it.
pub(crate) fn set(value: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value };
}

/// Runs `work` and puts back what `errno` was.
pub(crate) fn kept<T>(work: impl FnOnce() -> T) -> T {
    let before = get();
    let result = work();
    set(before);
    result
}
