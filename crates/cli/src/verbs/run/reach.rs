//! Finds out whether a preloaded library can reach a program, by reading the program's file before
//! it runs.

use std::ffi::{CString, OsStr};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use super::c_library::CLibrary;

/// The reason why the hooks would see nothing or do harm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// It has no dynamic linker, so nothing is preloaded.
    Static,
    /// Its network calls go to the kernel directly, bypassing the C library.
    Go,
    /// No library that this build carries is made for its C library.
    OtherLibc(String),
    /// The library is a 64-bit one, and the program is not.
    Bits32,
    /// The library, and what is put into Go programs, are made for another machine.
    OtherMachine,
    /// The code for it was compiled and never tried.
    Aarch64,
    /// The sanitizer must be the first of the preloaded libraries, and intercepts the same calls.
    Sanitizer(&'static str),
    /// The dynamic linker ignores `LD_PRELOAD` if a program gains privileges.
    GainsPrivileges(&'static str),
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static => {
                f.write_str("is statically linked, so nothing can be preloaded into it")
            }
            Self::Go => {
                f.write_str("is a Go program, which calls the kernel without the C library")
            }
            Self::OtherLibc(linker) => {
                write!(
                    f,
                    "uses another C library ({linker}); this build carries the library for {}",
                    CLibrary::carried()
                )
            }
            Self::Bits32 => {
                f.write_str("is a 32-bit program; the preloaded library is a 64-bit one")
            }
            Self::OtherMachine => {
                f.write_str("is built for another machine than the preloaded library")
            }
            Self::Aarch64 => f.write_str("is built for aarch64, on which run was never tried"),
            Self::Sanitizer(name) => {
                write!(
                    f,
                    "is built with {name}, which must be loaded first and hooks the same calls"
                )
            }
            Self::GainsPrivileges(how) => {
                write!(
                    f,
                    "{how}, and nothing may be put into a program that gains privileges"
                )
            }
        }
    }
}

/// Returns the file that a shell would run for `program`, which is searched for in `PATH` unless it
/// has a slash.
pub(crate) fn locate(program: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| is_program(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| is_program(path))
}

/// A program that a library can be loaded into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reachable {
    /// The program's C library, which decides which library is loaded.
    pub(crate) c_library: CLibrary,
    /// The ELF file and its dynamic linker; `None` of a file that cannot be read or is none.
    pub(crate) linked: Option<(PathBuf, PathBuf)>,
}

/// Returns how a library reaches `file`, or the interpreter that a script's first line names.
///
/// # Errors
/// The reason why it does not, and the file it concerns.
pub(crate) fn reachable(file: &Path) -> Result<Reachable, (PathBuf, Unreachable)> {
    reachable_within(file, SCRIPTS_DEEP)
}

fn reachable_within(file: &Path, depth: usize) -> Result<Reachable, (PathBuf, Unreachable)> {
    let concerns = |reason| (file.to_path_buf(), reason);
    let Ok(bytes) = fs::read(file) else {
        // A file that may be run but not read (for example mode 4711) still shows whose privileges
        // it runs with.
        return gained_privileges(file)
            .map_or_else(|| Ok(Reachable::default()), |reason| Err(concerns(reason)));
    };
    if let Some(interpreters) = script_interpreters(&bytes) {
        let mut last = Reachable::default();
        for next in interpreters.iter().filter(|_| depth > 0) {
            last = reachable_within(next, depth - 1)?;
        }
        // Behind `env`, whose own library may be another, is what runs the script.
        return Ok(last);
    }
    if let Some(reason) = gained_privileges(file) {
        return Err(concerns(reason));
    }
    let linker = read_elf(&bytes).map_err(concerns)?;
    Ok(
        linker.map_or_else(Reachable::default, |(c_library, linker)| Reachable {
            c_library,
            linked: Some((file.to_path_buf(), linker)),
        }),
    )
}

/// Returns the interpreter that `#!` names, and what `env` after it would run.
fn script_interpreters(bytes: &[u8]) -> Option<Vec<PathBuf>> {
    let line = bytes
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(OsStr::from_bytes);
    let first = PathBuf::from(words.next()?);
    let is_env = first.file_name() == Some(OsStr::new("env"));
    let behind =
        words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='));
    Some(
        std::iter::once(first)
            .chain(behind.filter(|_| is_env).and_then(locate))
            .collect(),
    )
}

fn gained_privileges(file: &Path) -> Option<Unreachable> {
    let meta = fs::metadata(file).ok()?;
    // SAFETY: no arguments, cannot fail.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    let gains = |how| Some(Unreachable::GainsPrivileges(how));
    if meta.mode() & libc::S_ISUID != 0 && meta.uid() != uid {
        return gains("is setuid");
    }
    if meta.mode() & libc::S_ISGID != 0 && meta.gid() != gid {
        return gains("is setgid");
    }
    let path = CString::new(file.as_os_str().as_bytes()).ok()?;
    // SAFETY: two C strings and an empty buffer, which asks for the length.
    let length = unsafe {
        libc::getxattr(
            path.as_ptr(),
            c"security.capability".as_ptr(),
            std::ptr::null_mut(),
            0,
        )
    };
    if length > 0 && uid != 0 {
        gains("has file capabilities")
    } else {
        None
    }
}

/// Returns a program's C library and its dynamic linker; `None` of a file that is no program.
fn read_elf(bytes: &[u8]) -> Result<Option<(CLibrary, PathBuf)>, Unreachable> {
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf32) => return Err(Unreachable::Bits32),
        Ok(object::FileKind::Elf64) => {}
        // Not a program; running it will show that.
        _ => return Ok(None),
    }
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else {
        return Ok(None);
    };
    let endian = file.endian();
    let machine = file.elf_header().e_machine(endian);
    match machine {
        elf::EM_X86_64 => {}
        // Of this machine's own programs those are told apart that no library would reach.
        elf::EM_AARCH64 if cfg!(target_arch = "aarch64") => {}
        elf::EM_AARCH64 => return Err(Unreachable::Aarch64),
        _ => return Err(Unreachable::OtherMachine),
    }
    if file
        .sections()
        .any(|section| matches!(section.name(), Ok(".go.buildinfo" | ".note.go.buildid")))
    {
        return Err(Unreachable::Go);
    }
    let Some(linker) = interpreter(&file, bytes) else {
        return Err(Unreachable::Static);
    };
    if machine == elf::EM_AARCH64 {
        return Err(Unreachable::Aarch64);
    }
    match CLibrary::of_linker(&linker).filter(|it| it.is_carried()) {
        None => Err(Unreachable::OtherLibc(linker)),
        Some(c_library) => match sanitizer(&file, bytes) {
            Some(reason) => Err(reason),
            None => Ok(Some((c_library, PathBuf::from(linker)))),
        },
    }
}

fn interpreter(file: &ElfFile64<'_>, bytes: &[u8]) -> Option<String> {
    let endian = file.endian();
    let header = file
        .elf_program_headers()
        .iter()
        .find(|header| header.p_type(endian) == elf::PT_INTERP)?;
    let path = header.data(endian, bytes).ok()?;
    Some(
        String::from_utf8_lossy(path)
            .trim_end_matches('\0')
            .to_owned(),
    )
}

/// Detects a sanitizer by the run-time library that the program needs, or by the symbol of one
/// linked into it.
fn sanitizer(file: &ElfFile64<'_>, bytes: &[u8]) -> Option<Unreachable> {
    let needed = needed_libraries(file, bytes).unwrap_or_default();
    let defines = |symbol: &str| file.dynamic_symbols().any(|s| s.name() == Ok(symbol));
    SANITIZERS
        .iter()
        .find(|(_, library, symbol)| {
            needed.iter().any(|name| name.contains(library)) || defines(symbol)
        })
        .map(|(name, ..)| Unreachable::Sanitizer(name))
}

fn needed_libraries(file: &ElfFile64<'_>, bytes: &[u8]) -> Option<Vec<String>> {
    let endian = file.endian();
    let sections = file.elf_section_table();
    let (dynamic, strings) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, strings).ok()?;
    let needed = dynamic
        .iter()
        .filter(|entry| entry.tag(endian) == elf::DT_NEEDED);
    Some(
        needed
            .filter_map(|entry| entry.string(endian, strings).ok())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}

/// Sanitizers, each with a part of its library's name and a symbol it defines.
const SANITIZERS: [(&str, &str, &str); 3] = [
    ("AddressSanitizer", "asan", "__asan_init"),
    ("ThreadSanitizer", "tsan", "__tsan_init"),
    ("MemorySanitizer", "msan", "__msan_init"),
];
/// The most scripts that may run one another: the kernel's own limit (`BINPRM_BUF` recursion of 5).
const SCRIPTS_DEEP: usize = 5;
