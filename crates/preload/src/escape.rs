//! Programs that a covered program executes and into which the library cannot be loaded. They are
//! named in the statistics, so that their absence there does not pass for silence. If the dynamic
//! linker would complain of the library, or the program refuse to start, it gets an environment
//! without the library.

use std::ffi::CStr;

use libc::{c_char, c_int};

use crate::elf::{self, Program};
use crate::page::Why;
use crate::settings::VARIABLE;
use crate::{errno, orders};

/// The environment for a program that is to be executed.
pub(crate) struct Passed {
    given: *const *const c_char,
    /// The entries without the library; null until something has to be removed.
    entries: [*const c_char; ENTRIES],
    /// `LD_PRELOAD` with the other libraries, and its place among the entries.
    list: [u8; LIST],
    listed_at: Option<usize>,
}

impl Passed {
    /// Checks the program `name`, which is searched for in `PATH` if it is not a path. Notes it if
    /// the library will not be loaded into it with the environment `given`.
    ///
    /// # Safety
    /// Both are the program's arguments of a call that executes.
    pub(crate) unsafe fn on(
        name: *const c_char,
        given: *const *const c_char,
        search: Search,
    ) -> Self {
        let mut passed = Self {
            given,
            entries: [std::ptr::null(); ENTRIES],
            list: [0; LIST],
            listed_at: None,
        };
        if orders::orders().is_none() || name.is_null() {
            return passed;
        }
        // SAFETY: as the caller says.
        let (name, library) = unsafe { (CStr::from_ptr(name), library_in(given)) };
        let why = errno::kept(|| judge(name, library, search));
        if let Some(why) = why {
            if let Some(page) = orders::page() {
                let last = name.to_bytes().rsplit(|byte| *byte == b'/').next();
                page.escapes(last.unwrap_or_default(), why);
            }
            if let Some(library) = library.filter(|_| why.harms()) {
                // SAFETY: as the caller says.
                unsafe { passed.take_out(library) };
            }
        }
        passed
    }

    /// Does the same for the program at `path` in the folder of `descriptor`, or for the descriptor
    /// itself if the path is empty.
    ///
    /// # Safety
    /// That of [`Passed::on`].
    pub(crate) unsafe fn on_descriptor(
        descriptor: c_int,
        path: *const c_char,
        given: *const *const c_char,
    ) -> Self {
        let mut name = Name::default();
        // SAFETY: as the caller says.
        unsafe {
            let path = if path.is_null() {
                c""
            } else {
                CStr::from_ptr(path)
            };
            let found = name
                .below(descriptor, path)
                .map_or(std::ptr::null(), CStr::as_ptr);
            Self::on(found, given, Search::No)
        }
    }

    /// Returns the environment to execute it with.
    ///
    /// It points into `self`, which must not move while the environment is used.
    pub(crate) fn environment(&mut self) -> *const *const c_char {
        if !self.is_changed() {
            return self.given;
        }
        if let Some(at) = self.listed_at {
            self.entries[at] = self.list.as_ptr().cast();
        }
        self.entries.as_ptr()
    }

    /// Returns whether it differs from the program's own.
    pub(crate) fn is_changed(&self) -> bool {
        !self.entries[0].is_null()
    }

    /// Removes the library from `LD_PRELOAD` and keeps the other libraries. Does nothing if there
    /// is no room.
    unsafe fn take_out(&mut self, library: &[u8]) {
        let mut kept = 0;
        // SAFETY: a null-terminated list of C strings.
        unsafe {
            for nth in 0.. {
                let entry = *self.given.add(nth);
                if entry.is_null() {
                    break;
                }
                let bytes = CStr::from_ptr(entry).to_bytes();
                if let Some(list) = bytes.strip_prefix(PRELOAD) {
                    match self.others(list, library) {
                        Others::None => continue,
                        Others::Some => self.listed_at = Some(kept),
                        Others::TooMany => {}
                    }
                }
                // The last place stays null.
                if kept == ENTRIES - 1 {
                    self.entries = [std::ptr::null(); ENTRIES];
                    return;
                }
                self.entries[kept] = entry;
                kept += 1;
            }
        }
    }

    /// Stores the other preloaded libraries.
    fn others(&mut self, list: &[u8], library: &[u8]) -> Others {
        self.list[..PRELOAD.len()].copy_from_slice(PRELOAD);
        let mut end = PRELOAD.len();
        for other in list.split(separates) {
            if other.is_empty() || other == library {
                continue;
            }
            // The last octet stays NUL.
            let Some(room) = self.list.get_mut(end..end + other.len() + 2) else {
                return Others::TooMany;
            };
            room[..other.len()].copy_from_slice(other);
            room[other.len()] = b':';
            end += other.len() + 1;
        }
        if end == PRELOAD.len() {
            return Others::None;
        }
        self.list[end - 1] = 0;
        Others::Some
    }
}

/// The other preloaded libraries.
enum Others {
    None,
    Some,
    TooMany,
}

/// Whether a program's name is searched for in `PATH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    Path,
    No,
}

#[cold]
fn judge(name: &CStr, library: Option<&[u8]>, search: Search) -> Option<Why> {
    let mut found = Name::default();
    let path = if search == Search::No || name.to_bytes().contains(&b'/') {
        name
    } else {
        found.search(name.to_bytes())?
    };
    if !can_be_executed(path) {
        return None;
    }
    let Some(library) = library else {
        return Some(Why::Environment);
    };
    match elf::program(path) {
        Program::Static => Some(Why::Static),
        Program::Sanitized => Some(Why::Sanitizer),
        Program::OtherLinker => Some(Why::OtherLibc),
        // After a chroot, or in a container.
        Program::Loadable if !is_there(library) => Some(Why::Root),
        Program::Loadable => None,
    }
}

/// Returns the library's path, if the library and its settings are in this environment.
unsafe fn library_in<'a>(environment: *const *const c_char) -> Option<&'a [u8]> {
    let (mut library, mut settings) = (None, false);
    let mut entry = environment;
    // SAFETY: null, or a null-terminated list of C strings.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            let bytes = CStr::from_ptr(*entry).to_bytes();
            if let Some(list) = bytes.strip_prefix(PRELOAD) {
                library = list
                    .split(separates)
                    .find(|entry| entry.windows(11).any(|part| part == b"libtinygram"));
            }
            settings |= bytes.starts_with(VARIABLE.as_bytes());
            entry = entry.add(1);
        }
    }
    library.filter(|_| settings)
}

/// Returns whether the byte separates entries of `LD_PRELOAD`, see ld.so(8).
fn separates(byte: &u8) -> bool {
    matches!(byte, b' ' | b':')
}

/// A path with its NUL.
struct Name([u8; libc::PATH_MAX as usize]);

impl Default for Name {
    fn default() -> Self {
        Self([0; libc::PATH_MAX as usize])
    }
}

impl Name {
    /// Joins `parts`.
    fn of(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
        let mut end = 0;
        for part in parts {
            self.0.get_mut(end..end + part.len())?.copy_from_slice(part);
            end += part.len();
        }
        *self.0.get_mut(end)? = 0;
        CStr::from_bytes_until_nul(&self.0).ok()
    }

    /// Returns `path` in the folder of `descriptor`; if it is empty, what the descriptor itself
    /// leads to.
    fn below(&mut self, descriptor: c_int, path: &CStr) -> Option<&CStr> {
        let path = path.to_bytes();
        if descriptor == libc::AT_FDCWD || path.starts_with(b"/") {
            return self.of(&[path]);
        }
        let mut digits = [0; 10];
        let mut rest = u32::try_from(descriptor).ok()?;
        let mut first = digits.len();
        while rest > 0 || first == digits.len() {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let folder: &[u8] = b"/proc/self/fd/";
        if !path.is_empty() {
            return self.of(&[folder, &digits[first..], b"/", path]);
        }
        // By its own name, if it still has it, because that name is shown.
        let mut link = Self::default();
        let link = link.of(&[folder, &digits[first..]])?;
        let room = self.0.len() - 1;
        // SAFETY: a C string, and as much room as is said.
        let length =
            unsafe { libc::readlink(link.as_ptr(), self.0.as_mut_ptr().cast::<c_char>(), room) };
        *self.0.get_mut(usize::try_from(length).ok()?)? = 0;
        let target = CStr::from_bytes_until_nul(&self.0).ok()?;
        if can_be_executed(target) {
            return CStr::from_bytes_until_nul(&self.0).ok();
        }
        self.of(&[folder, &digits[first..]])
    }

    /// Returns the first program of this name in `PATH`, found as execvp(3) does.
    fn search(&mut self, name: &[u8]) -> Option<&CStr> {
        // SAFETY: the variable's value is a C string; nobody changes the environment during a call that executes.
        let path = unsafe {
            let value = libc::getenv(c"PATH".as_ptr());
            (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
        };
        let folders = path.unwrap_or(b"/bin:/usr/bin").split(|byte| *byte == b':');
        for folder in folders {
            let folder: &[u8] = if folder.is_empty() { b"." } else { folder };
            if self.of(&[folder, b"/", name]).is_some_and(can_be_executed) {
                return CStr::from_bytes_until_nul(&self.0).ok();
            }
        }
        None
    }
}

fn is_there(path: &[u8]) -> bool {
    let mut name = Name::default();
    name.of(&[path]).is_some_and(|name| may(name, libc::R_OK))
}

fn can_be_executed(path: &CStr) -> bool {
    may(path, libc::X_OK)
}

fn may(path: &CStr, how: c_int) -> bool {
    // SAFETY: a C string.
    unsafe { libc::access(path.as_ptr(), how) == 0 }
}

const PRELOAD: &[u8] = b"LD_PRELOAD=";
/// Nothing is removed from environments with more entries.
const ENTRIES: usize = 512;
const LIST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is made of an environment without the library at `/lib/libtinygram.so`, after
    /// it was moved.
    fn without_the_library(given: &[&CStr]) -> Vec<String> {
        let mut list: Vec<_> = given.iter().map(|entry| entry.as_ptr()).collect();
        list.push(std::ptr::null());
        let mut passed = Passed {
            given: list.as_ptr(),
            entries: [std::ptr::null(); ENTRIES],
            list: [0; LIST],
            listed_at: None,
        };
        // SAFETY: a null-terminated list of C strings.
        unsafe { passed.take_out(b"/lib/libtinygram.so") };
        let mut moved = Box::new(passed);
        let environment = moved.environment();
        // SAFETY: as above, and it points into what no longer moves.
        let entries = (0..).map_while(|nth| unsafe {
            let entry = *environment.add(nth);
            (!entry.is_null()).then(|| CStr::from_ptr(entry).to_string_lossy().into_owned())
        });
        entries.collect()
    }

    #[test]
    fn what_others_preload_stays() {
        let given = [
            c"A=1",
            c"LD_PRELOAD=one.so:/lib/libtinygram.so two.so",
            c"B=2",
        ];
        let left = ["A=1", "LD_PRELOAD=one.so:two.so", "B=2"];
        assert_eq!(without_the_library(&given), left);
        let given = [c"LD_PRELOAD=/lib/libtinygram.so:one.so", c"B=2"];
        assert_eq!(without_the_library(&given), ["LD_PRELOAD=one.so", "B=2"]);
    }

    #[test]
    fn the_variable_goes_where_nobody_else_preloads() {
        let given = [c"A=1", c"LD_PRELOAD=/lib/libtinygram.so", c"B=2"];
        assert_eq!(without_the_library(&given), ["A=1", "B=2"]);
    }
}
