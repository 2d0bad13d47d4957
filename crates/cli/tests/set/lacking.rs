//! What `set`, `cure` and `whatif` say where the kernel lacks what they take: one line, and nothing is changed. The kernel's own
//! types are hidden, or replaced by those of one that has nothing else, in a mount namespace of the program's own.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use super::hosting::{may_set, said};

const TYPES: &CStr = c"/sys/kernel/btf";

/// Mounts something for this process and those that it starts; allowed between fork and exec.
fn mount(what: &CStr, at: &CStr, kind: Option<&CStr>, flags: libc::c_ulong) -> io::Result<()> {
    let kind = kind.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: strings that outlive the call.
    match unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind, flags, std::ptr::null()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs tinygram where `hide` has changed what is mounted.
fn run(words: &[&str], hide: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(words);
    // SAFETY: the calls are allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                return Err(io::Error::last_os_error());
            }
            mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
            hide()
        });
    }
    command.output().unwrap()
}

/// Runs each verb on a connection of this process.
#[track_caller]
fn lacks(hide: impl Fn() -> io::Result<()> + Send + Sync + Clone + 'static, part: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("state");
    let (port, journal_word) = (port.to_string(), journal.to_str().unwrap());
    for words in [
        &["set", &port, "nodelay=on", "--journal", journal_word][..],
        &[
            "set",
            &port,
            "nodelay=on",
            "--follow",
            "--journal",
            journal_word,
        ],
        &["cure", &port, "--journal", journal_word],
        &["whatif", &port, "nodelay=on"],
    ] {
        let output = run(words, hide.clone());
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
        assert!(said.contains("it takes Linux"), "{said}");
    }
    assert!(!client.nodelay().unwrap());
    assert!(!journal.exists(), "nothing was written down");
}

#[test]
fn a_kernel_without_types_is_said_in_one_line() {
    if !may_set() {
        return;
    }
    lacks(
        || mount(c"none", TYPES, Some(c"tmpfs"), 0),
        "CONFIG_DEBUG_INFO_BTF",
    );
}

#[test]
fn an_older_kernel_is_said_in_one_line() {
    if !may_set() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vmlinux");
    fs::write(&path, types_of_an_old_kernel()).unwrap();
    let path = CString::new(path.to_str().unwrap()).unwrap();
    lacks(
        move || mount(&path, c"/sys/kernel/btf/vmlinux", None, libc::MS_BIND),
        "this kernel lets no BPF program walk over its TCP sockets",
    );
}

/// Returns type information with nothing but an `int` (Linux, Documentation/bpf/btf.rst).
fn types_of_an_old_kernel() -> Vec<u8> {
    let names = b"\0int\0";
    // The name's place, BTF_KIND_INT, its size, and signed with 32 bits.
    let types = [1_u32, 1 << 24, 4, 1 << 24 | 32];
    let length = size_of_val(&types) as u32;
    let mut octets = 0xeb9f_u16.to_ne_bytes().to_vec();
    // Version 1, no flags; then the header's length, and where types and names are.
    octets.extend([1, 0]);
    for number in [24, 0, length, length, names.len() as u32] {
        octets.extend(number.to_ne_bytes());
    }
    octets.extend(types.iter().flat_map(|number| number.to_ne_bytes()));
    octets.extend(names);
    octets
}
