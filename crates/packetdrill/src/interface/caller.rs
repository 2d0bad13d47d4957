//! What every C call needs: the stack behind the pointer, arrays, and the return value.

use std::ffi::c_void;

use crate::call::Errno;
use crate::world::Drill;

/// # Safety
///
/// `userdata` is what [`packetdrill_interface_init`] returned.
pub(super) unsafe fn drill<'a>(userdata: *mut c_void) -> &'a Drill {
    unsafe { &*(userdata as *const Drill) }
}

/// Returns the outcome of a call in C's form.
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
/// Those of [`std::slice::from_raw_parts`], except that the array may be absent.
pub(super) unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 || first.is_null() {
        &[]
    } else {
        unsafe { std::slice::from_raw_parts(first, count) }
    }
}
