//! Programs that a covered one executes and that the library is not loaded into: named in the
//! statistics, so that nobody takes their silence for theirs.

use std::ffi::CStr;

use libc::{c_char, c_int};

use crate::errno;
use crate::page::Why;
use crate::settings::VARIABLE;
use crate::{kernel, orders};

/// Notes the program at `path`, if the library will not be loaded into it with `environment`.
///
/// # Safety
/// Both are what the program passes to `execve`.
pub(crate) unsafe fn note(path: *const c_char, environment: *const *const c_char) {
    let Some(page) = orders::page().filter(|_| !path.is_null()) else {
        return;
    };
    // SAFETY: as the caller says.
    let (path, is_passed_on) = unsafe { (CStr::from_ptr(path), passes_it_on(environment)) };
    let why = errno::kept(|| {
        if !is_passed_on {
            // SAFETY: a C string.
            return (unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0)
                .then_some(Why::Environment);
        }
        is_static(path).then_some(Why::Static)
    });
    if let Some(why) = why {
        let name = path.to_bytes().rsplit(|byte| *byte == b'/').next();
        page.escapes(name.unwrap_or_default(), why);
    }
}

unsafe fn passes_it_on(environment: *const *const c_char) -> bool {
    let (mut library, mut settings) = (false, false);
    let mut entry = environment;
    // SAFETY: null, or a null-terminated list of C strings.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            let bytes = CStr::from_ptr(*entry).to_bytes();
            library |=
                bytes.starts_with(b"LD_PRELOAD=") && bytes.windows(11).any(|w| w == b"libtinygram");
            settings |= bytes.starts_with(VARIABLE.as_bytes());
            entry = entry.add(1);
        }
    }
    library && settings
}

/// Whether it is an ELF file that names no dynamic linker.
fn is_static(path: &CStr) -> bool {
    let mut start = [0_u8; 4096];
    // SAFETY: a C string; at most the buffer's length is read; the descriptor is our own.
    let length = unsafe {
        let fd: c_int = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return false;
        }
        let length = kernel::read(fd, start.as_mut_ptr().cast(), start.len());
        kernel::close(fd);
        length
    };
    let Some(start) = usize::try_from(length)
        .ok()
        .and_then(|length| start.get(..length))
    else {
        return false;
    };
    // Of a 64-bit ELF file: where its program headers stand, and how many there are.
    let (Some(offset), Some(count)) = (number(start, 32, 8), number(start, 56, 2)) else {
        return false;
    };
    if !start.starts_with(b"\x7fELF\x02") {
        return false;
    }
    let kinds = (0..count).map(|nth| number(start, offset.saturating_add(nth * 56), 4));
    // Headers beyond what was read may name one.
    kinds.clone().all(|kind| kind.is_some())
        && !kinds.flatten().any(|kind| kind == libc::PT_INTERP as usize)
}

fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(len)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
    )
}
