//! The library that the command contains, and the places from which programs can load it.
//!
//! Its name contains a hash of its content: every version has its own file, and a file in use is
//! never rewritten. It is searched for where a package may have put it, and unpacked if it is not
//! found.

use std::env;
use std::ffi::{CString, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::{Failure, plain};

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

/// Returns the file to preload: an existing one, otherwise one that is unpacked now.
pub(crate) fn find(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if LIBRARY.is_empty() {
        return Err(Failure::Input(
            "run needs Linux on x86_64 with glibc: the library it loads into programs keeps its thread's memory \
             with instructions of that machine"
                .to_owned(),
        ));
    }
    if let Some(folder) = asked {
        return in_folder(folder)
            .map_err(|why| Failure::Input(format!("--library-dir {}: {why}", folder.display())));
    }
    if let Some(packaged) = packaged()
        .into_iter()
        .find(|file| is_ours(file) && obstacle(file).is_none())
    {
        return Ok(packaged);
    }
    let mut tried = Vec::new();
    for folder in folders() {
        match in_folder(&folder) {
            Ok(file) => return Ok(file),
            Err(why) => tried.push(format!("{}: {why}", folder.display())),
        }
    }
    Err(Failure::Input(format!(
        "no folder to unpack the library to ({}); name one with --library-dir",
        tried.join("; ")
    )))
}

/// Returns the library's file name and its content; `None` on a machine that it was not built for.
pub(crate) fn content() -> Option<(String, &'static [u8])> {
    (!LIBRARY.is_empty()).then(|| (name(), LIBRARY))
}

/// Returns the library in this folder, and unpacks it if it is not there; otherwise the reason why
/// that failed.
fn in_folder(folder: &Path) -> Result<PathBuf, String> {
    let folder = std::path::absolute(folder).map_err(|error| plain(&error).to_string())?;
    let file = folder.join(name());
    if let Some(why) = bad_path(&file) {
        return Err(why.to_owned());
    }
    if !is_ours(&file) {
        write(&folder, &file).map_err(|error| plain(&error).to_string())?;
    }
    match obstacle(&file) {
        Some(why) => Err(why.to_owned()),
        None if is_ours(&file) => Ok(file),
        None => Err("others may write to it".to_owned()),
    }
}

/// Returns where a package or an administrator may have put it. It is not unpacked there.
fn packaged() -> Vec<PathBuf> {
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
        .flat_map(|folder| [folder.join(name()), folder.join("libtinygram.so")]);
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

/// Checks that the dynamic linker loads the library into the program at `file`. The linker itself
/// reports this without running any of the program (ld.so(8), `LD_TRACE_LOADED_OBJECTS`).
pub(crate) fn verify(file: &Path, library: &Path) -> Result<(), Failure> {
    let traced = Command::new(file)
        .env_clear()
        .envs(env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"LD_")))
        .env("LD_PRELOAD", preload_list(library))
        .env("LD_TRACE_LOADED_OBJECTS", "1")
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

/// Returns the library's file name.
fn name() -> String {
    format!("libtinygram-{:016x}.so", digest(LIBRARY))
}

/// Returns whether that file is the library, and nobody else could have put it there or can change
/// it.
fn is_ours(file: &Path) -> bool {
    let owned = |path: &Path| {
        // SAFETY: as above.
        let me = unsafe { libc::geteuid() };
        fs::symlink_metadata(path)
            .is_ok_and(|meta| (meta.uid() == me || meta.uid() == 0) && meta.mode() & 0o022 == 0)
    };
    file.parent().is_some_and(owned)
        && owned(file)
        && fs::read(file).is_ok_and(|bytes| bytes == LIBRARY)
}

/// Writes a temporary file and renames it, because another `tinygram run` may look at the same
/// instant.
fn write(folder: &Path, file: &Path) -> std::io::Result<()> {
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
            open.write_all(LIBRARY)?;
            // Whatever the umask: the program may continue as another user.
            open.set_permissions(fs::Permissions::from_mode(0o755))
        })
        .and_then(|()| fs::rename(&draft, file));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Root's copy, which every user can load.
const ROOTS: &str = "/var/cache/tinygram";
