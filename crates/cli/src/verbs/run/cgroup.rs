//! `--cgroup`: sets `TCP_NODELAY` on every connection of a program that no library can reach. The
//! kernel itself does so, with a sockops program on a control group made for the run.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use crate::exit::{Failure, plain};

/// A control group with the sockops program attached, for the lifetime of this value.
pub(crate) struct Nodelay {
    folder: PathBuf,
    /// The attachment ends when this is closed, even if we are killed.
    _attachment: OwnedFd,
}

impl Nodelay {
    pub(crate) fn attach() -> Result<Self, Failure> {
        let parent = own_group().ok_or_else(|| {
            Failure::Input(
                "--cgroup needs a mounted cgroup2 file system, and there is none".to_owned(),
            )
        })?;
        let folder = parent.join(format!("tinygram-{}", std::process::id()));
        fs::create_dir(&folder)
            .map_err(|error| missing("making a control group", &folder, &error))?;
        let attached = load()
            .map_err(|error| missing("loading a sockops program", Path::new("bpf(2)"), &error))
            .and_then(|program| {
                let group =
                    fs::File::open(&folder).map_err(|error| missing("opening", &folder, &error))?;
                link(&program, group.as_raw_fd())
                    .map_err(|error| missing("attaching the program to", &folder, &error))
            });
        match attached {
            Ok(attachment) => Ok(Self {
                folder,
                _attachment: attachment,
            }),
            Err(failure) => {
                let _ = fs::remove_dir(&folder);
                Err(failure)
            }
        }
    }

    /// Returns the file to which a process writes `0` to join.
    pub(crate) fn members(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for Nodelay {
    fn drop(&mut self) {
        // The folder stays if the program left others running; they continue without us.
        let _ = fs::remove_dir(&self.folder);
    }
}

fn missing(doing: &str, what: &Path, error: &io::Error) -> Failure {
    let privilege = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            ": it takes root, or CAP_BPF and CAP_NET_ADMIN and a control group of one's own \
             (systemd-run --user --scope -p Delegate=yes)"
        }
        Some(libc::ENOSYS | libc::EINVAL) => ": the kernel may be built without CONFIG_CGROUP_BPF",
        _ => "",
    };
    Failure::Input(format!(
        "--cgroup: {doing} {}: {}{privilege}",
        what.display(),
        plain(error)
    ))
}

/// Returns the folder of our own control group in the version 2 hierarchy.
fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        right
            .starts_with("cgroup2 ")
            .then(|| left.split(' ').nth(4))
            .flatten()
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Path::new(mount).join(path.trim_start_matches('/')))
}

/// One eBPF instruction (include/uapi/linux/bpf.h, `struct bpf_insn`).
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination register in the low half, source in the high half.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers: from << 4 | to,
        offset,
        immediate,
    }
}

/// Calls `bpf_setsockopt(ctx, IPPROTO_TCP, TCP_NODELAY, &one, 4)` at either end of a handshake.
static PROGRAM: [Instruction; 12] = [
    instruction(LOAD_WORD, 2, 1, 0, 0), // r2 = ctx->op, its first field
    instruction(JUMP_EQUAL, 2, 0, 1, ACTIVE_ESTABLISHED),
    instruction(JUMP_NOT_EQUAL, 2, 0, 7, PASSIVE_ESTABLISHED),
    instruction(STORE_WORD, 10, 0, -4, 1), // one, on the stack
    instruction(MOVE_REGISTER, 4, 10, 0, 0),
    instruction(ADD, 4, 0, 0, -4),
    instruction(MOVE, 2, 0, 0, libc::IPPROTO_TCP),
    instruction(MOVE, 3, 0, 0, libc::TCP_NODELAY),
    instruction(MOVE, 5, 0, 0, 4),
    instruction(CALL, 0, 0, 0, HELPER_SETSOCKOPT),
    instruction(MOVE, 0, 0, 0, 1),
    instruction(EXIT, 0, 0, 0, 0),
];

const LOAD_WORD: u8 = 0x61;
const STORE_WORD: u8 = 0x62;
const ADD: u8 = 0x07;
const MOVE: u8 = 0xb7;
const MOVE_REGISTER: u8 = 0xbf;
const JUMP_EQUAL: u8 = 0x15;
const JUMP_NOT_EQUAL: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const HELPER_SETSOCKOPT: i32 = 49;
const ACTIVE_ESTABLISHED: i32 = 4;
const PASSIVE_ESTABLISHED: i32 = 5;

const COMMAND_LOAD: i32 = 5;
const COMMAND_LINK: i32 = 28;
const PROGRAM_SOCKOPS: u32 = 13;
const ATTACH_SOCKOPS: u32 = 3;

/// The relevant fields of `union bpf_attr` for `BPF_PROG_LOAD`; the rest is zero.
#[repr(C)]
struct LoadAttributes {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// The relevant fields of `union bpf_attr` for `BPF_LINK_CREATE`.
#[repr(C)]
struct LinkAttributes {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
}

fn load() -> io::Result<OwnedFd> {
    bpf(
        COMMAND_LOAD,
        &LoadAttributes {
            program_type: PROGRAM_SOCKOPS,
            instruction_count: PROGRAM.len() as u32,
            instructions: PROGRAM.as_ptr() as u64,
            license: c"MIT".as_ptr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
        },
    )
}

fn link(program: &OwnedFd, group: RawFd) -> io::Result<OwnedFd> {
    let attributes = LinkAttributes {
        program: program.as_raw_fd() as u32,
        target: group as u32,
        attach_type: ATTACH_SOCKOPS,
        flags: 0,
    };
    bpf(COMMAND_LINK, &attributes)
}

fn bpf<T>(command: i32, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the attributes have the layout of the command, and what they point to lives until the
    // call returns. It returns a descriptor that is ours, or an error.
    unsafe {
        let result = libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        );
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(OwnedFd::from_raw_fd(result as RawFd))
        }
    }
}
