//! From loading until the program's `main`, and the end of the process.

use std::ffi::CStr;

use libc::{c_char, c_int};

use crate::hooks::process::{self, before_end};
use crate::page::Page;
use crate::settings::{Settings, VARIABLE};
use crate::traces::{self, SUFFIX, Traces};
use crate::{ending, keeper, kernel, orders};
use tinygram_coalesce::Policy;

#[cfg_attr(interpose, used)]
#[cfg_attr(interpose, unsafe(link_section = ".init_array"))]
pub(crate) static LOAD: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = load;

#[cfg_attr(interpose, used)]
#[cfg_attr(interpose, unsafe(link_section = ".fini_array"))]
pub(crate) static UNLOAD: extern "C" fn() = unload;

/// glibc passes constructors the arguments of `main`, musl passes none and has set `environ`.
extern "C" fn load(_: c_int, _: *const *const c_char, passed: *const *const c_char) {
    let environment = match cfg!(target_env = "gnu") {
        true => passed,
        // SAFETY: the C library set it before it calls constructors, and nobody changes it meanwhile.
        false => unsafe { process::environ },
    };
    // SAFETY: the environment is a null-terminated list of C strings.
    let Some(text) = (unsafe { variable(environment) }) else {
        return;
    };
    if let Some(settings) = text.to_str().ok().and_then(Settings::decode) {
        let page = settings.stats.and_then(map_page);
        let observes = settings.rules.policy == Policy::Observe;
        // SAFETY: traces of any content are valid.
        let find = || unsafe { map::<Traces>(settings.stats?, SUFFIX) };
        let found = page.filter(|_| observes).and_then(|_| find());
        // The kernel put it on the first thread's stack before any frame.
        traces::note_stack(environment as u64);
        keeper::begin(&settings, page, found);
    }
}

/// Runs after the program's own exit handlers, which may still write. With statistics, [`last`]
/// runs even later.
extern "C" fn unload() {
    if orders::orders().is_none_or(|orders| orders.page.is_none()) {
        before_end();
    }
}

/// Runs as the last exit handler, because it was registered before all others. Where the exit code is unknown, whoever shows
/// the statistics learns from the kernel that the process has ended.
fn last(status: Option<c_int>) {
    before_end();
    if let Some(status) = status {
        process::report_end(status);
    }
}

unsafe fn variable(environment: *const *const c_char) -> Option<&'static CStr> {
    // SAFETY: as the caller says.
    unsafe {
        let mut entry = environment;
        while !entry.is_null() && !(*entry).is_null() {
            let bytes = CStr::from_ptr(*entry).to_bytes_with_nul();
            if let Some(value) = bytes
                .strip_prefix(VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
            {
                return CStr::from_bytes_with_nul(value).ok();
            }
            entry = entry.add(1);
        }
        None
    }
}

/// Maps the statistics file; `None` if this process may not, or if the file is not visible from its
/// root.
fn map_page(path: &str) -> Option<&'static Page> {
    // SAFETY: a page of any content is valid.
    let page = unsafe { map::<Page>(path, "")? };
    page.processes
        .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    // SAFETY: no argument, cannot fail.
    page.enlist(unsafe { libc::getpid() } as u32);
    ending::at_exit(last);
    Some(page)
}

/// Maps the file named `path` plus `suffix`.
///
/// # Safety
/// The file is as long as a `T`, of which any content is valid.
unsafe fn map<T>(path: &str, suffix: &str) -> Option<&'static T> {
    let mut name = [0_u8; libc::PATH_MAX as usize];
    let end = path.len() + suffix.len();
    name.get_mut(..path.len())?.copy_from_slice(path.as_bytes());
    name.get_mut(path.len()..end)?
        .copy_from_slice(suffix.as_bytes());
    // SAFETY: the name ends in NUL, as the array is longer.
    unsafe {
        if name.last() != Some(&0) {
            return None;
        }
        let fd = libc::open(name.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let shared = libc::mmap(
            std::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            fd,
            0,
        );
        kernel::close(fd);
        (shared != libc::MAP_FAILED).then(|| &*shared.cast::<T>())
    }
}
