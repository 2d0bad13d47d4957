//! The libraries that the command contains, one for each C library, and the places from which programs can load them.
//!
//! Its name contains a hash of its content: every version has its own file, and a file in use is
//! never rewritten. It is searched for where a package may have put it, and unpacked if it is not
//! found.

use std::env;
use std::ffi::{CString, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_library::CLibrary;
use super::reach::Reachable;
use crate::outcome::{Failure, plain};

/// Returns the file to preload into programs of this C library: an existing one, otherwise one that is unpacked now.
pub(crate) fn find(made_for: CLibrary, asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if !made_for.is_carried() {
        return Err(Failure::Input(format!(
            "loading a library into a program needs Linux on x86_64, and a build that carries the library for {}; this one \
             carries the library for {}",
            made_for.name(),
            CLibrary::carried()
        )));
    }
    if let Some(folder) = asked {
        return in_folder(made_for, folder)
            .map_err(|why| Failure::Input(format!("--library-dir {}: {why}", folder.display())));
    }
    if let Some(packaged) = packaged(made_for)
        .into_iter()
        .find(|file| is_ours(made_for, file) && obstacle(file).is_none())
    {
        return Ok(packaged);
    }
    let mut tried = Vec::new();
    for folder in folders() {
        match in_folder(made_for, &folder) {
            Ok(file) => return Ok(file),
            Err(why) => tried.push(format!("{}: {why}", folder.display())),
        }
    }
    Err(Failure::Input(format!(
        "no folder to unpack the library to ({}); name one with --library-dir",
        tried.join("; ")
    )))
}

/// Returns the file name and the content of the library for glibc, which services are started with; `None` in a build
/// without it.
pub(crate) fn content() -> Option<(String, &'static [u8])> {
    let [name, _] = CLibrary::Glibc.file_names();
    CLibrary::Glibc
        .is_carried()
        .then(|| (name, CLibrary::Glibc.octets()))
}

/// Returns the library in this folder, and unpacks it if it is not there; otherwise the reason why
/// that failed.
fn in_folder(made_for: CLibrary, folder: &Path) -> Result<PathBuf, String> {
    let folder = std::path::absolute(folder).map_err(|error| plain(&error).to_string())?;
    let [name, _] = made_for.file_names();
    let file = folder.join(name);
    if let Some(why) = bad_path(&file) {
        return Err(why.to_owned());
    }
    if !is_ours(made_for, &file) {
        write(made_for, &folder, &file).map_err(|error| plain(&error).to_string())?;
    }
    match obstacle(&file) {
        Some(why) => Err(why.to_owned()),
        None if is_ours(made_for, &file) => Ok(file),
        None => Err("others may write to it".to_owned()),
    }
}

/// Returns where a package or an administrator may have put it. It is not unpacked there.
fn packaged(made_for: CLibrary) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(program) = env::current_exe()
        && let Some(folder) = program.parent()
    {
        folders.push(folder.to_owned());
        folders.push(folder.join("../lib/tinygram"));
    }
    folders.extend(["/usr/lib/tinygram", "/usr/local/lib/tinygram", ROOTS].map(PathBuf::from));
    let files = folders
        .iter()
        .flat_map(|folder| made_for.file_names().map(|name| folder.join(name)));
    files.filter_map(|file| file.canonicalize().ok()).collect()
}

/// Returns where to unpack it, the best place first. Root's copy is readable by every user, because
/// servers start as root and continue as another user.
fn folders() -> Vec<PathBuf> {
    // SAFETY: no argument, cannot fail.
    let me = unsafe { libc::geteuid() };
    let own = |folder: &str| PathBuf::from(folder).join(format!("tinygram-{me}"));
    if me == 0 {
        return vec![
            ROOTS.into(),
            "/run/tinygram".into(),
            own("/dev/shm"),
            own("/tmp"),
        ];
    }
    let variable = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let mut folders: Vec<_> = [cache, variable("XDG_RUNTIME_DIR")]
        .into_iter()
        .flatten()
        .map(|folder| folder.join("tinygram"))
        .collect();
    folders.push(env::temp_dir().join(format!("tinygram-{me}")));
    folders.extend([own("/dev/shm"), own("/tmp"), own("/var/tmp")]);
    folders
}

/// Returns the reason why the dynamic linker cannot load the file from there, if there is one.
fn obstacle(file: &Path) -> Option<&'static str> {
    bad_path(file).or_else(|| forbids_programs(file).then_some("its file system is mounted noexec"))
}

fn bad_path(file: &Path) -> Option<&'static str> {
    // ld.so(8): entries of LD_PRELOAD are separated by spaces or colons, and there is no escaping.
    let separates = |byte: &u8| matches!(byte, b' ' | b':' | b'$');
    file.as_os_str()
        .as_bytes()
        .iter()
        .any(separates)
        .then_some("LD_PRELOAD takes no path with a space, a colon or a dollar sign")
}

fn forbids_programs(file: &Path) -> bool {
    let Ok(path) = CString::new(file.as_os_str().as_bytes()) else {
        return true;
    };
    // SAFETY: a C string, and a structure of integers that is written to.
    unsafe {
        let mut system: libc::statvfs = std::mem::zeroed();
        libc::statvfs(path.as_ptr(), &raw mut system) == 0 && system.f_flag & libc::ST_NOEXEC != 0
    }
}

/// Checks that the dynamic linker loads the library into the program. The linker itself reports this without running any
/// of the program: glibc's if it is told by a variable (ld.so(8), `LD_TRACE_LOADED_OBJECTS`), musl's if it is started with
/// `--list`.
pub(crate) fn verify(file: &Path, reached: &Reachable, library: &Path) -> Result<(), Failure> {
    let Some((program, linker)) = &reached.linked else {
        return Ok(());
    };
    let mut asked = match reached.c_library {
        CLibrary::Glibc => Command::new(file),
        CLibrary::Musl => {
            let mut asked = Command::new(linker);
            asked.arg("--list").arg(program);
            asked
        }
    };
    if reached.c_library == CLibrary::Glibc {
        asked.env_clear();
        asked.envs(env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"LD_")));
        asked.env("LD_TRACE_LOADED_OBJECTS", "1");
    }
    let traced = asked
        .env("LD_PRELOAD", preload_list(library))
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(traced) = traced else { return Ok(()) };
    let is_listed = |line: &[u8]| contains(line, library.as_os_str().as_bytes());
    if traced.stdout.split(|byte| *byte == b'\n').any(is_listed) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&traced.stderr);
    let said = said
        .lines()
        .find(|line| line.contains("tinygram"))
        .unwrap_or("it does not say why");
    Err(Failure::Input(format!(
        "the dynamic linker does not load {} into {}: {}; another folder may be named with --library-dir",
        library.display(),
        file.display(),
        said.trim()
    )))
}

fn contains(line: &[u8], what: &[u8]) -> bool {
    line.windows(what.len()).any(|window| window == what)
}

/// Returns the new value of `LD_PRELOAD`: the library first, then the caller's own entries.
pub(crate) fn preload_list(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// Returns whether that file is the library, and nobody else could have put it there or can change
/// it.
fn is_ours(made_for: CLibrary, file: &Path) -> bool {
    let owned = |path: &Path| {
        // SAFETY: as above.
        let me = unsafe { libc::geteuid() };
        fs::symlink_metadata(path)
            .is_ok_and(|meta| (meta.uid() == me || meta.uid() == 0) && meta.mode() & 0o022 == 0)
    };
    file.parent().is_some_and(owned)
        && owned(file)
        && fs::read(file).is_ok_and(|bytes| bytes == made_for.octets())
}

/// Writes a temporary file and renames it, because another `tinygram run` may look at the same
/// instant.
fn write(made_for: CLibrary, folder: &Path, file: &Path) -> std::io::Result<()> {
    let is_new = !folder.exists();
    fs::create_dir_all(folder)?;
    if is_new {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    let draft = folder.join(format!(
        ".{}.{}",
        file.file_name().unwrap_or_default().display(),
        std::process::id()
    ));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o755);
    let written = options
        .open(&draft)
        .and_then(|mut open| {
            open.write_all(made_for.octets())?;
            // Whatever the umask: the program may continue as another user.
            open.set_permissions(fs::Permissions::from_mode(0o755))
        })
        .and_then(|()| fs::rename(&draft, file));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Root's copy, which every user can load.
const ROOTS: &str = "/var/cache/tinygram";
