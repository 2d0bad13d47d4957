//! Puts many entries into a map of the kernel by one call: a call for each costs more than the walk.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use aya::Pod;
use aya::maps::MapData;

/// Writes these values to the first entries of an array.
///
/// # Errors
///
/// Returns what the kernel refuses; some may have been written.
pub(super) fn update<V: Pod>(map: &MapData, values: &[V]) -> io::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let count = u32::try_from(values.len()).expect("no more than the array has");
    let keys: Vec<u32> = (0..count).collect();
    let mut attributes = Attributes {
        keys: keys.as_ptr() as u64,
        values: values.as_ptr() as u64,
        count,
        map: map.fd().as_fd().as_raw_fd().cast_unsigned(),
        ..Attributes::default()
    };
    // SAFETY: the kernel reads as many keys and values as there are.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            UPDATE,
            &raw mut attributes,
            size_of::<Attributes>(),
        )
    };
    match failed {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
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

/// `BPF_MAP_UPDATE_BATCH`, since Linux 5.6.
const UPDATE: libc::c_int = 26;
