//! The library the command carries, and where programs can load it from.
//!
//! It is unpacked into a cache folder under a name made of its content's hash: every version has its
//! own file, and a file in use is never rewritten.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

/// The file to preload, unpacked if it is not there yet.
pub(crate) fn unpack() -> Result<PathBuf, Failure> {
    if LIBRARY.is_empty() {
        return Err(Failure::Input(
            "run needs Linux on x86_64 with glibc: the library it loads into programs keeps its thread's memory \
             with instructions of that machine"
                .to_owned(),
        ));
    }
    let folder = folder();
    let file = folder.join(format!("libtinygram-{:016x}.so", digest(LIBRARY)));
    if is_ours(&file) {
        return Ok(file);
    }
    write(&folder, &file).map_err(|error| Failure::Io {
        doing: format!("unpacking the library to {}", file.display()),
        error,
    })?;
    Ok(file)
}

/// The new value of `LD_PRELOAD`: the library first, then what the caller preloads anyway.
pub(crate) fn preload_list(library: &Path) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

/// Root's folder is one that every user can read: servers start as root and go on as somebody else.
fn folder() -> PathBuf {
    // SAFETY: no argument, cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return PathBuf::from("/var/cache/tinygram");
    }
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("tinygram")
}

/// Whether that file is the library, and nobody else could have put it there or change it.
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

/// Written aside and renamed: another `tinygram run` may be looking at the same instant.
fn write(folder: &Path, file: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    let draft = folder.join(format!(
        ".{}.{}",
        file.file_name().unwrap_or_default().display(),
        std::process::id()
    ));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o755);
    options.open(&draft)?.write_all(LIBRARY)?;
    fs::rename(&draft, file)
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
