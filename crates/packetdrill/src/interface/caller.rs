//! What every call of C's needs: the stack behind the pointer, arrays, and a way to say how it ended.

use std::ffi::c_void;

use crate::call::Errno;
use crate::world::Drill;

/// # Safety
///
/// `userdata` is what [`packetdrill_interface_init`] gave.
pub(super) unsafe fn drill<'a>(userdata: *mut c_void) -> &'a Drill {
    unsafe { &*(userdata as *const Drill) }
}

/// C's way of saying how a call ended.
pub(super) fn answer(outcome: Result<i64, Errno>) -> i64 {
    match outcome {
        Ok(value) => value,
        Err(Errno(number)) => {
            unsafe { *libc::__errno_location() = number };
            -1
        }
    }
}

/// # Safety
///
/// As [`std::slice::from_raw_parts`], but that there may be nothing at all.
pub(super) unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 || first.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(first, count) }
    }
}
