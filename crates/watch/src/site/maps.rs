//! What a process has mapped, and its memory.

use std::fs::{self, File};
use std::path::PathBuf;
use std::rc::Rc;

use memmap2::Mmap;

use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};

/// Returns the files that `pid` runs code from, lowest address first.
pub(super) fn code(pid: u32) -> Vec<MemoryMap> {
    all(pid)
        .into_iter()
        .filter(|map| map.perms.contains(MMPermissions::EXECUTE))
        .collect()
}

/// Everything that `pid` has mapped; nothing if it may not be looked into.
pub(super) fn all(pid: u32) -> Vec<MemoryMap> {
    let Ok(pid) = i32::try_from(pid) else {
        return Vec::new();
    };
    let maps = Process::new(pid).and_then(|process| process.maps());
    maps.map(|maps| maps.into_iter().collect())
        .unwrap_or_default()
}

/// Returns a mapped file's path in the process' own file system, and one by which it can be opened from here:
/// that of the process' root, so that containers and deleted files are found.
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

/// Returns a file of a running program in memory.
pub(super) fn octets(file: &File) -> Option<Rc<Mmap>> {
    // SAFETY: a program that is running is not written to (ETXTBSY); a library that is truncated
    // meanwhile is the same risk that the process itself runs.
    unsafe { Mmap::map(file) }.ok().map(Rc::new)
}

/// Returns the program that `pid` runs now; nothing if it has ended or may not be looked into.
pub(super) fn program(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
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
    // SAFETY: only `into` is written to; the other process' memory is only read, and an address that
    // it does not have is an error.
    let got = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(got) == Ok(into.len())
}

/// Returns the eight octets at `address` as a number.
pub(super) fn read_u64(pid: u32, address: u64) -> Option<u64> {
    let mut octets = [0; 8];
    read(pid, address, &mut octets).then(|| u64::from_ne_bytes(octets))
}
