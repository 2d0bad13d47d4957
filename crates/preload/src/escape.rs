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
    let (path, library) = unsafe { (CStr::from_ptr(path), passed_on(environment)) };
    let why = errno::kept(|| match library {
        _ if !is_there(path.to_bytes(), libc::X_OK) => None,
        None => Some(Why::Environment),
        Some(_) if is_static(path) => Some(Why::Static),
        // Since a chroot, or in a container.
        Some(library) if !is_there(library, libc::R_OK) => Some(Why::Root),
        Some(_) => None,
    });
    if let Some(why) = why {
        let name = path.to_bytes().rsplit(|byte| *byte == b'/').next();
        page.escapes(name.unwrap_or_default(), why);
    }
}

/// Returns the library's path, if it and its settings are in this environment.
unsafe fn passed_on<'a>(environment: *const *const c_char) -> Option<&'a [u8]> {
    let (mut library, mut settings) = (None, false);
    let mut entry = environment;
    // SAFETY: null, or a null-terminated list of C strings.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            let bytes = CStr::from_ptr(*entry).to_bytes();
            if let Some(list) = bytes.strip_prefix(b"LD_PRELOAD=") {
                let mut entries = list.split(|byte| matches!(byte, b' ' | b':'));
                library =
                    entries.find(|entry| entry.windows(11).any(|part| part == b"libtinygram"));
            }
            settings |= bytes.starts_with(VARIABLE.as_bytes());
            entry = entry.add(1);
        }
    }
    library.filter(|_| settings)
}

/// Returns whether there is a file at this path that may be used so.
fn is_there(path: &[u8], how: c_int) -> bool {
    let mut name = [0_u8; libc::PATH_MAX as usize];
    let Some(start) = name.get_mut(..path.len()) else {
        return false;
    };
    start.copy_from_slice(path);
    // SAFETY: the name ends in NUL, or is as long as none can be.
    name.last() == Some(&0) && unsafe { libc::access(name.as_ptr().cast(), how) } == 0
}

/// Returns whether it is an ELF file that names no dynamic linker.
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
