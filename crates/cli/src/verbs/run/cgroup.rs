//! `--cgroup`: sets `TCP_NODELAY` on every connection of a program that no library can reach, and
//! keeps it set if the program turns it off. The kernel itself does so, with a sockops and a
//! sockopt program on a control group made for the run.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use crate::outcome::{Failure, plain};

/// A control group with the two programs attached, for the lifetime of this value.
pub(crate) struct Nodelay {
    folder: PathBuf,
    /// The attachments end when these are closed, even if we are killed.
    _attachments: [OwnedFd; 2],
}

impl Nodelay {
    pub(crate) fn attach() -> Result<Self, Failure> {
        let parent = own_group().ok_or_else(|| {
            Failure::Input(
                "--cgroup needs a mounted cgroup2 file system, and there is none".to_owned(),
            )
        })?;
        remove_abandoned();
        let folder = parent.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&folder)
            .map_err(|error| missing("making a control group", &folder, &error))?;
        let attached = attach_to(&folder, "a sockops program", &AT_HANDSHAKE)
            .and_then(|first| Ok([first, attach_to(&folder, "a sockopt program", &AT_OPTION)?]));
        match attached {
            Ok(attachments) => Ok(Self {
                folder,
                _attachments: attachments,
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

/// Returns the control groups that a killed run left: nobody is in them, and the process that made them has ended. What was
/// attached to them ended with it.
pub(crate) fn abandoned() -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(root) = mount() {
        look_below(&root, 0, &mut found);
    }
    found.sort();
    found
}

/// Removes them, and returns those that are gone.
pub(crate) fn remove_abandoned() -> Vec<PathBuf> {
    let all = abandoned().into_iter();
    all.filter(|folder| fs::remove_dir(folder).is_ok())
        .collect()
}

fn look_below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth > MOST_DEPTH || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let name = entry.file_name();
        let made_by = name
            .to_str()
            .and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
        match made_by {
            Some(pid) if is_abandoned(&path, pid) => found.push(path),
            _ => look_below(&path, depth + 1, found),
        }
    }
}

/// Returns whether a control group of process `pid` has no process, and that one is gone.
fn is_abandoned(folder: &Path, pid: u32) -> bool {
    let events = fs::read_to_string(folder.join("cgroup.events")).unwrap_or_default();
    events.lines().any(|line| line == "populated 0") && !Path::new(&format!("/proc/{pid}")).exists()
}

fn attach_to(folder: &Path, what: &str, program: &Program) -> Result<OwnedFd, Failure> {
    let loading = format!("loading {what}");
    let loaded = load(program).map_err(|error| missing(&loading, Path::new("bpf(2)"), &error))?;
    let group = fs::File::open(folder).map_err(|error| missing("opening", folder, &error))?;
    link(&loaded, group.as_raw_fd(), program.attach_type)
        .map_err(|error| missing("attaching the program to", folder, &error))
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
pub(crate) fn own_group() -> Option<PathBuf> {
    let mount = mount()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(mount.join(path.trim_start_matches('/')))
}

/// Returns where the version 2 hierarchy is mounted.
fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let place = right
            .starts_with("cgroup2 ")
            .then(|| left.split(' ').nth(4));
        place.flatten().map(PathBuf::from)
    })
}

/// Of a control group of ours; its maker's process ID follows.
const NAME: &str = "tinygram-";
/// So deep are control groups looked for.
const MOST_DEPTH: usize = 12;

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

/// A program, and where in the kernel it runs.
struct Program {
    instructions: &'static [Instruction],
    program_type: u32,
    attach_type: u32,
}

static AT_HANDSHAKE: Program = Program {
    instructions: &SET_AT_HANDSHAKE,
    program_type: 13, // BPF_PROG_TYPE_SOCK_OPS
    attach_type: 3,   // BPF_CGROUP_SOCK_OPS
};

static AT_OPTION: Program = Program {
    instructions: &KEEP_SET,
    program_type: 25, // BPF_PROG_TYPE_CGROUP_SOCKOPT
    attach_type: 22,  // BPF_CGROUP_SETSOCKOPT
};

/// Calls `bpf_setsockopt(ctx, IPPROTO_TCP, TCP_NODELAY, &one, 4)` at either end of a handshake.
static SET_AT_HANDSHAKE: [Instruction; 12] = [
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

/// Makes `setsockopt(TCP_NODELAY, 0)` of the program set 1, and leaves every other call as it is.
static KEEP_SET: [Instruction; 15] = [
    instruction(LOAD_WORD, 2, 1, SOCKOPT_LEVEL, 0),
    instruction(JUMP_NOT_EQUAL, 2, 0, 9, libc::IPPROTO_TCP),
    instruction(LOAD_WORD, 2, 1, SOCKOPT_NAME, 0),
    instruction(JUMP_NOT_EQUAL, 2, 0, 7, libc::TCP_NODELAY),
    instruction(LOAD_DOUBLE, 3, 1, SOCKOPT_VALUE, 0),
    instruction(LOAD_DOUBLE, 4, 1, SOCKOPT_VALUE_END, 0),
    instruction(MOVE_REGISTER, 5, 3, 0, 0),
    instruction(ADD, 5, 0, 0, 4),
    instruction(JUMP_GREATER, 5, 4, 2, 0),
    instruction(STORE_WORD, 3, 0, 0, 1), // one, in the kernel's copy of the value
    instruction(JUMP, 0, 0, 2, 0),
    // A length of 0 means: the kernel takes the program's own value, however long it is.
    instruction(MOVE, 2, 0, 0, 0),
    instruction(STORE_REGISTER, 1, 2, SOCKOPT_LENGTH, 0),
    instruction(MOVE, 0, 0, 0, 1), // the call goes on
    instruction(EXIT, 0, 0, 0, 0),
];

/// Offsets in `struct bpf_sockopt`.
const SOCKOPT_VALUE: i16 = 8;
const SOCKOPT_VALUE_END: i16 = 16;
const SOCKOPT_LEVEL: i16 = 24;
const SOCKOPT_NAME: i16 = 28;
const SOCKOPT_LENGTH: i16 = 32;

const LOAD_WORD: u8 = 0x61;
const LOAD_DOUBLE: u8 = 0x79;
const STORE_REGISTER: u8 = 0x63;
const JUMP: u8 = 0x05;
const JUMP_GREATER: u8 = 0x2d;
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
    name: [u8; 16],
    interface: u32,
    expected_attach_type: u32,
}

/// The relevant fields of `union bpf_attr` for `BPF_LINK_CREATE`.
#[repr(C)]
struct LinkAttributes {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
}

fn load(program: &Program) -> io::Result<OwnedFd> {
    bpf(
        COMMAND_LOAD,
        &LoadAttributes {
            program_type: program.program_type,
            instruction_count: program.instructions.len() as u32,
            instructions: program.instructions.as_ptr() as u64,
            license: c"MIT".as_ptr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel_version: 0,
            flags: 0,
            name: [0; 16],
            interface: 0,
            expected_attach_type: program.attach_type,
        },
    )
}

fn link(program: &OwnedFd, group: RawFd, attach_type: u32) -> io::Result<OwnedFd> {
    let attributes = LinkAttributes {
        program: program.as_raw_fd() as u32,
        target: group as u32,
        attach_type,
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
