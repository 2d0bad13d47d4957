//! The system call bpf(2), by what it is called for here.

use std::ffi::{CStr, c_char};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use aya_obj::generated::{
    bpf_attach_type, bpf_attr, bpf_cmd, bpf_insn, bpf_link_info, bpf_map_info, bpf_prog_info,
};

/// A map to be made.
#[derive(Clone, Copy)]
pub(crate) struct MapToMake<'a> {
    pub(crate) name: &'a str,
    pub(crate) map_type: u32,
    pub(crate) key_octets: u32,
    pub(crate) value_octets: u32,
    pub(crate) entries: u32,
    pub(crate) flags: u32,
    pub(crate) types: Types<'a>,
}

/// What describes a map's contents.
#[derive(Clone, Copy)]
pub(crate) enum Types<'a> {
    None,
    /// The types of key and value in an object's BTF.
    Object {
        btf: BorrowedFd<'a>,
        key: u32,
        value: u32,
    },
    /// The type of the value in the kernel's BTF. It wants the BTF of an object all the same.
    Kernel {
        btf: BorrowedFd<'a>,
        value: u32,
    },
}

/// A program to be loaded.
#[derive(Clone, Copy)]
pub(crate) struct ProgramToLoad<'a> {
    pub(crate) name: &'a str,
    pub(crate) program_type: u32,
    pub(crate) attach_type: u32,
    /// What it is attached to, by its number in the kernel's BTF.
    pub(crate) attach_to: u32,
    pub(crate) instructions: &'a [bpf_insn],
    pub(crate) license: &'a CStr,
}

/// The kinds of things that have numbers.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Program,
    Map,
    Link,
}

pub(crate) fn make_map(map: &MapToMake<'_>) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: a union of plain numbers, all zero.
    let fields = unsafe { &mut attr.__bindgen_anon_1 };
    fields.map_type = map.map_type;
    fields.key_size = map.key_octets;
    fields.value_size = map.value_octets;
    fields.max_entries = map.entries;
    fields.map_flags = map.flags;
    fields.map_name = name(map.name);
    match map.types {
        Types::None => {}
        Types::Object { btf, key, value } => {
            fields.btf_fd = btf.as_raw_fd().cast_unsigned();
            fields.btf_key_type_id = key;
            fields.btf_value_type_id = value;
        }
        Types::Kernel { btf, value } => {
            fields.btf_fd = btf.as_raw_fd().cast_unsigned();
            fields.btf_vmlinux_value_type_id = value;
        }
    }
    descriptor(bpf_cmd::BPF_MAP_CREATE, &mut attr)
}

pub(crate) fn load_btf(octets: &[u8]) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: as above.
    let fields = unsafe { &mut attr.__bindgen_anon_7 };
    fields.btf = octets.as_ptr() as u64;
    fields.btf_size = size(octets);
    descriptor(bpf_cmd::BPF_BTF_LOAD, &mut attr)
}

/// Loads a program. The error has the verifier's last line, if it is the verifier's.
pub(crate) fn load_program(program: &ProgramToLoad<'_>) -> io::Result<OwnedFd> {
    let error = match load(program, &mut []) {
        Err(error) if error.kind() != io::ErrorKind::PermissionDenied => error,
        Err(error) if !is_root() => return Err(error),
        Err(error) => error,
        loaded => return loaded,
    };
    let mut log = vec![0; LOG_OCTETS];
    match load(program, &mut log) {
        Ok(loaded) => Ok(loaded),
        Err(_) => {
            let end = log
                .iter()
                .position(|octet| *octet == 0)
                .unwrap_or(log.len());
            let log = String::from_utf8_lossy(&log[..end]);
            let mut lines = log
                .lines()
                .filter(|line| !line.starts_with("processed ") && !line.trim().is_empty());
            let said = lines
                .next_back()
                .map(|line| format!("{error} ({}: {line})", program.name));
            Err(said.map_or(error, io::Error::other))
        }
    }
}

fn load(program: &ProgramToLoad<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    // SAFETY: as above.
    let fields = unsafe { &mut attr.__bindgen_anon_3 };
    fields.prog_type = program.program_type;
    fields.expected_attach_type = program.attach_type;
    fields.attach_btf_id = program.attach_to;
    fields.insns = program.instructions.as_ptr() as u64;
    fields.insn_cnt = size(program.instructions);
    fields.license = program.license.as_ptr() as u64;
    fields.prog_name = name(program.name);
    if !log.is_empty() {
        fields.log_level = 1;
        fields.log_buf = log.as_mut_ptr() as u64;
        fields.log_size = size(log);
    }
    descriptor(bpf_cmd::BPF_PROG_LOAD, &mut attr)
}

/// Writes an entry of a map.
pub(crate) fn update(map: BorrowedFd<'_>, key: u32, value: &[u8]) -> io::Result<()> {
    let mut attr = zeroed();
    // SAFETY: as above.
    let fields = unsafe { &mut attr.__bindgen_anon_2 };
    fields.map_fd = map.as_raw_fd().cast_unsigned();
    fields.key = (&raw const key) as u64;
    fields.__bindgen_anon_1.value = value.as_ptr() as u64;
    call(bpf_cmd::BPF_MAP_UPDATE_ELEM, &mut attr).map(drop)
}

/// Reads an entry of a map into `value`, which has the map's size of values.
pub(crate) fn look_up(map: BorrowedFd<'_>, key: u32, value: &mut [u8]) -> io::Result<()> {
    let mut attr = zeroed();
    // SAFETY: as above.
    let fields = unsafe { &mut attr.__bindgen_anon_2 };
    fields.map_fd = map.as_raw_fd().cast_unsigned();
    fields.key = (&raw const key) as u64;
    fields.__bindgen_anon_1.value = value.as_mut_ptr() as u64;
    call(bpf_cmd::BPF_MAP_LOOKUP_ELEM, &mut attr).map(drop)
}

/// Lets nobody write to a map any more.
pub(crate) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    let mut attr = zeroed();
    attr.__bindgen_anon_2.map_fd = map.as_raw_fd().cast_unsigned();
    call(bpf_cmd::BPF_MAP_FREEZE, &mut attr).map(drop)
}

/// Attaches a program to a BTF tracepoint, until the result is closed.
pub(crate) fn trace(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    attr.raw_tracepoint.prog_fd = program.as_raw_fd().cast_unsigned();
    descriptor(bpf_cmd::BPF_RAW_TRACEPOINT_OPEN, &mut attr)
}

/// Attaches a program or a map of `struct_ops`, until the result is closed.
pub(crate) fn link(
    what: BorrowedFd<'_>,
    target: Option<BorrowedFd<'_>>,
    attach_type: bpf_attach_type,
) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    attr.link_create.__bindgen_anon_1.prog_fd = what.as_raw_fd().cast_unsigned();
    attr.link_create.__bindgen_anon_2.target_fd =
        target.map_or(0, |target| target.as_raw_fd().cast_unsigned());
    attr.link_create.attach_type = attach_type as u32;
    descriptor(bpf_cmd::BPF_LINK_CREATE, &mut attr)
}

/// Returns a descriptor that walks when it is read.
pub(crate) fn walk(link: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    attr.iter_create.link_fd = link.as_raw_fd().cast_unsigned();
    descriptor(bpf_cmd::BPF_ITER_CREATE, &mut attr)
}

/// Returns the number after this one; `None` if there is none.
pub(crate) fn next_number(kind: Kind, after: u32) -> io::Result<Option<u32>> {
    let mut attr = zeroed();
    attr.__bindgen_anon_6.__bindgen_anon_1.start_id = after;
    let command = match kind {
        Kind::Program => bpf_cmd::BPF_PROG_GET_NEXT_ID,
        Kind::Map => bpf_cmd::BPF_MAP_GET_NEXT_ID,
        Kind::Link => bpf_cmd::BPF_LINK_GET_NEXT_ID,
    };
    match call(command, &mut attr) {
        // SAFETY: the kernel has written it.
        Ok(_) => Ok(Some(unsafe { attr.__bindgen_anon_6.next_id })),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens what has this number.
pub(crate) fn open(kind: Kind, number: u32) -> io::Result<OwnedFd> {
    let mut attr = zeroed();
    attr.__bindgen_anon_6.__bindgen_anon_1.prog_id = number;
    let command = match kind {
        Kind::Program => bpf_cmd::BPF_PROG_GET_FD_BY_ID,
        Kind::Map => bpf_cmd::BPF_MAP_GET_FD_BY_ID,
        Kind::Link => bpf_cmd::BPF_LINK_GET_FD_BY_ID,
    };
    descriptor(command, &mut attr)
}

pub(crate) fn map_info(map: BorrowedFd<'_>) -> io::Result<bpf_map_info> {
    // SAFETY: plain numbers.
    let mut info: bpf_map_info = unsafe { mem::zeroed() };
    read_info(map, &mut info)?;
    Ok(info)
}

pub(crate) fn link_info(link: BorrowedFd<'_>) -> io::Result<bpf_link_info> {
    // SAFETY: plain numbers.
    let mut info: bpf_link_info = unsafe { mem::zeroed() };
    read_info(link, &mut info)?;
    Ok(info)
}

/// Returns the numbers of the maps that a program uses.
pub(crate) fn maps_of(program: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut numbers = vec![0_u32; MOST_MAPS];
    // SAFETY: plain numbers.
    let mut info: bpf_prog_info = unsafe { mem::zeroed() };
    info.nr_map_ids = size(&numbers);
    info.map_ids = numbers.as_mut_ptr() as u64;
    read_info(program, &mut info)?;
    numbers.truncate(info.nr_map_ids as usize);
    Ok(numbers)
}

fn read_info<T>(of: BorrowedFd<'_>, info: &mut T) -> io::Result<()> {
    let mut attr = zeroed();
    attr.info.bpf_fd = of.as_raw_fd().cast_unsigned();
    attr.info.info_len = size_of::<T>() as u32;
    attr.info.info = std::ptr::from_mut(info) as u64;
    call(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attr).map(drop)
}

fn descriptor(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<OwnedFd> {
    let fd = call(command, attr)?;
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn call(command: bpf_cmd, attr: &mut bpf_attr) -> io::Result<RawFd> {
    // SAFETY: the attributes are those of the command, and what they point to outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command as u32,
            std::ptr::from_mut(attr),
            size_of::<bpf_attr>(),
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as RawFd)
}

fn zeroed() -> bpf_attr {
    // SAFETY: a union of plain numbers.
    unsafe { mem::zeroed() }
}

/// Returns a name as the kernel takes it: letters, digits, `_` and `.`, fifteen at most.
fn name(name: &str) -> [c_char; 16] {
    let mut octets = [0; 16];
    let fit = |octet: u8| match octet.is_ascii_alphanumeric() || octet == b'_' {
        true => octet as c_char,
        false => b'_' as c_char,
    };
    for (slot, octet) in octets[..15].iter_mut().zip(name.bytes()) {
        *slot = fit(octet);
    }
    octets
}

fn size<T>(slice: &[T]) -> u32 {
    u32::try_from(slice.len()).expect("small")
}

fn is_root() -> bool {
    // SAFETY: takes nothing and returns a number.
    unsafe { libc::geteuid() == 0 }
}

const LOG_OCTETS: usize = 1 << 20;
const MOST_MAPS: usize = 64;
