//! Puts many entries into a map of the kernel by one call, and takes them out: a call for each costs more than the walk.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use aya::Pod;
use aya::maps::MapData;

/// Writes these values to their keys.
///
/// # Errors
///
/// Returns what the kernel refuses; some may have been written.
pub(super) fn update<V: Pod>(map: &MapData, keys: &[u64], values: &[V]) -> io::Result<()> {
    assert_eq!(keys.len(), values.len());
    if keys.is_empty() {
        return Ok(());
    }
    let (_, done) = call(map, UPDATE, keys, values.as_ptr() as u64);
    done
}

/// Takes these keys out; what is not there does no harm.
pub(super) fn remove(map: &MapData, mut keys: &[u64]) {
    while !keys.is_empty() {
        let (removed, done) = call(map, DELETE, keys, 0);
        if done.is_ok() {
            return;
        }
        // The kernel stops at the first that is missing.
        keys = keys.get(removed + 1..).unwrap_or_default();
    }
}

/// Returns how many entries the kernel has worked on.
fn call(map: &MapData, command: libc::c_int, keys: &[u64], values: u64) -> (usize, io::Result<()>) {
    let mut attributes = Attributes {
        keys: keys.as_ptr() as u64,
        values,
        count: u32::try_from(keys.len()).expect("no more than sockets"),
        map: map.fd().as_fd().as_raw_fd().cast_unsigned(),
        ..Attributes::default()
    };
    // SAFETY: the kernel reads as many keys and values as there are, and writes the count.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            &raw mut attributes,
            size_of::<Attributes>(),
        )
    };
    let done = match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    (attributes.count as usize, done)
}

/// The structure `batch` in `union bpf_attr` of linux/bpf.h.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    elem_flags: u64,
    flags: u64,
}

/// `BPF_MAP_UPDATE_BATCH` and `BPF_MAP_DELETE_BATCH`, since Linux 5.6.
const UPDATE: libc::c_int = 26;
const DELETE: libc::c_int = 27;
