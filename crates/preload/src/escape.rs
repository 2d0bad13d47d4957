//! Programs that a covered one executes and that the library cannot be loaded into: named in the statistics,
//! so that nobody takes their silence for theirs, and given an environment without the library where the
//! dynamic linker would complain of it, or the program refuse to start.

use std::ffi::CStr;

use libc::{c_char, c_int};

use crate::elf::{self, Program};
use crate::page::Why;
use crate::settings::VARIABLE;
use crate::{errno, orders};

/// What a program is to be executed with.
pub(crate) struct Passed {
    given: *const *const c_char,
    /// The same less the library; null as long as nothing has to be taken out.
    entries: [*const c_char; ENTRIES],
    /// `LD_PRELOAD` with what others preload, and where it belongs among the entries.
    list: [u8; LIST],
    listed_at: Option<usize>,
}

impl Passed {
    /// Judges the program `name`, which is searched for in `PATH` if it is not a path, and notes it if the
    /// library will not be loaded into it with the environment `given`.
    ///
    /// # Safety
    /// Both are what the program passes to a call that executes.
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

    /// The same for the program at `path` from the folder of `descriptor`, or for the descriptor itself where the path
    /// is empty.
    ///
    /// # Safety
    /// As for [`Passed::on`].
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

    /// The environment to execute it with.
    ///
    /// It leads into `self`, which must stay where it is as long as this is used.
    pub(crate) fn environment(&mut self) -> *const *const c_char {
        if !self.is_changed() {
            return self.given;
        }
        if let Some(at) = self.listed_at {
            self.entries[at] = self.list.as_ptr().cast();
        }
        self.entries.as_ptr()
    }

    /// Whether it is another than the program's own.
    pub(crate) fn is_changed(&self) -> bool {
        !self.entries[0].is_null()
    }

    /// Takes the library out of `LD_PRELOAD`, and leaves what others preload. Nothing changes where there is
    /// no room.
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

    /// Writes down what else is preloaded.
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

/// What else is preloaded.
enum Others {
    None,
    Some,
    TooMany,
}

/// Whether a program's name is looked for in `PATH`.
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
        // Since a chroot, or in a container.
        Program::Loadable if !is_there(library) => Some(Why::Root),
        Program::Loadable => None,
    }
}

/// The library's path, if it and its settings are in this environment.
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

/// Entries of `LD_PRELOAD`, see ld.so(8).
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
    /// `parts`, one after the other.
    fn of(&mut self, parts: &[&[u8]]) -> Option<&CStr> {
        let mut end = 0;
        for part in parts {
            self.0.get_mut(end..end + part.len())?.copy_from_slice(part);
            end += part.len();
        }
        *self.0.get_mut(end)? = 0;
        CStr::from_bytes_until_nul(&self.0).ok()
    }

    /// `path` from the folder of `descriptor`; where it is empty, what that leads to itself.
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
        // By its own name, if it still has it, for what is told of it.
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

    /// The first program of this name in `PATH`, as execvp(3) looks for it.
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
/// Of larger environments nothing is taken out.
const ENTRIES: usize = 512;
const LIST: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of an environment without the library at `/lib/libtinygram.so`, after it was moved.
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
        // SAFETY: the same, and it leads into what stands still now.
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
