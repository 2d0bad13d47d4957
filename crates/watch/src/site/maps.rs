//! Reads a process's mappings and its memory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::rc::Rc;

use memmap2::Mmap;

use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

use tinygram_host::start::started;

/// Returns the mappings from which `pid` runs code, the lowest address first.
pub(super) fn code(pid: u32) -> Vec<MemoryMap> {
    all(pid)
        .into_iter()
        .filter(|map| map.perms.contains(MMPermissions::EXECUTE))
        .collect()
}

/// Returns all mappings of `pid`; nothing if this process may not inspect it.
pub(super) fn all(pid: u32) -> Vec<MemoryMap> {
    let Ok(pid) = i32::try_from(pid) else {
        return Vec::new();
    };
    let maps = Process::new(pid).and_then(|process| process.maps());
    maps.map(|maps| maps.into_iter().collect())
        .unwrap_or_default()
}

/// Returns a mapped file's path in the process's own file system, and a path by which this process
/// can open it. The second path goes through the process's root, so that it also works for
/// containers and deleted files.
pub(super) fn file(pid: u32, map: &MemoryMap) -> Option<(String, String)> {
    let MMapPath::Path(path) = &map.pathname else {
        return None;
    };
    let path = path.to_string_lossy();
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path).to_owned();
    let by_range = format!(
        "/proc/{pid}/map_files/{:x}-{:x}",
        map.address.0, map.address.1
    );
    let open_at = match fs::metadata(&by_range) {
        Ok(_) => by_range,
        Err(_) => format!("/proc/{pid}/root{path}"),
    };
    Some((path, open_at))
}

/// Maps a file of a running program into memory.
pub(super) fn octets(file: &File) -> Option<Rc<Mmap>> {
    // SAFETY: nobody can write to a running program (ETXTBSY). If a library is truncated meanwhile,
    // the process that runs it has the same risk.
    unsafe { Mmap::map(file) }.ok().map(Rc::new)
}

/// What a process runs. Another process that gets the same process ID later has begun at another
/// time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Running {
    executable: PathBuf,
    started: Option<u64>,
}

/// Returns what `pid` runs now; `None` if it has ended or this process may not inspect it.
pub(super) fn running(pid: u32) -> Option<Running> {
    Some(Running {
        executable: fs::read_link(format!("/proc/{pid}/exe")).ok()?,
        started: started(pid),
    })
}

/// Reads `into.len()` octets of the memory of `pid` at `address`; false if not all of them are there.
pub(super) fn read(pid: u32, address: u64, into: &mut [u8]) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else {
        return false;
    };
    let local = libc::iovec {
        iov_base: into.as_mut_ptr().cast(),
        iov_len: into.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: into.len(),
    };
    // SAFETY: only `into` is written to. The other process's memory is only read, and an invalid
    // address there is an error.
    let got = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(got) == Ok(into.len())
}

/// Returns the eight octets at `address` as a number.
pub(super) fn read_u64(pid: u32, address: u64) -> Option<u64> {
    let mut octets = [0; 8];
    read(pid, address, &mut octets).then(|| u64::from_ne_bytes(octets))
}
