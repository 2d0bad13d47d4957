//! What the tests of `set` and `cure` share: whether sockets may be set here, and programs in network namespaces of their own.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use tinygram_host::hand::Hand;
use tinygram_host::lacking::Lacking;

/// Returns all that a command printed.
pub(crate) fn said(output: &Output) -> String {
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    text.concat()
}

/// Returns whether sockets may be set here; says why not. A program that the kernel's verifier refuses is no reason.
pub(crate) fn may_set() -> bool {
    match Hand::open() {
        Ok(_) => true,
        Err(lacking @ Lacking::Other(_)) => panic!("{lacking}"),
        Err(lacking) => {
            eprintln!("skipped: {lacking}");
            false
        }
    }
}

/// Returns whether there are network namespaces, `ip` and Python; says what is missing.
pub(crate) fn may_make_namespaces() -> bool {
    let has = |program: &str, word: &str| Command::new(program).arg(word).output().is_ok();
    // SAFETY: a number.
    let is_root = unsafe { libc::getuid() } == 0;
    let missing = match () {
        () if !is_root => Some("root"),
        () if !has("ip", "-V") => Some("ip"),
        () if !has("python3", "-V") => Some("python3"),
        () => None,
    };
    if let Some(missing) = missing {
        eprintln!("skipped: it takes {missing}");
    }
    missing.is_none()
}

/// Returns the root of the control groups of version 2, if groups can be made there; says that they cannot.
pub(crate) fn control_groups() -> Option<PathBuf> {
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    let probe = format!("tinygram-probe-{}", std::process::id());
    let may_make = |root: &PathBuf| {
        root.join("cgroup.controllers").exists()
            && fs::create_dir(root.join(&probe)).is_ok()
            && fs::remove_dir(root.join(&probe)).is_ok()
    };
    let root = roots.into_iter().find(may_make);
    if root.is_none() {
        eprintln!("skipped: no control groups of version 2 can be made here");
    }
    root
}

pub(crate) fn tinygram(journal: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(words).arg("--journal").arg(journal);
    command.output().unwrap()
}

/// Where a program runs.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// In a new network namespace.
    New,
    /// In that of a process.
    Of(u32),
}

/// A Python program in a network namespace. It is ended with this value.
pub(crate) struct Program {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Program {
    pub(crate) fn start(script: &str, words: &[&str], place: Place) -> Self {
        let mut python = Command::new("python3");
        python.args(["-u", "-c", script]).args(words);
        python.stdin(Stdio::piped()).stdout(Stdio::piped());
        let there = match place {
            Place::Of(pid) => Some(File::open(format!("/proc/{pid}/ns/net")).unwrap()),
            Place::New => None,
        };
        let enter = move || match &there {
            // SAFETY: takes numbers; allowed between fork and exec.
            Some(there) => unsafe { libc::setns(there.as_raw_fd(), libc::CLONE_NEWNET) },
            // SAFETY: as above.
            None => unsafe { libc::unshare(libc::CLONE_NEWNET) },
        };
        // SAFETY: the calls are allowed between fork and exec.
        unsafe {
            python.pre_exec(move || match enter() {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let mut child = python.spawn().expect("python3 starts");
        let mut program = Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        };
        // By then it is in its namespace.
        assert_eq!(program.line(), "ready");
        program
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Writes a line to the program.
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Runs `ip` in the program's namespace.
    pub(crate) fn ip(&self, words: &str) {
        let pid = self.pid().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &pid, "ip"]);
        let output = command.args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "ip {words}: {}", said(&output));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a line of its standard input, then serves or asks.
///
/// `serve ADDRESS SIZE` prints its port, and answers each request of SIZE octets by one. `ask` reads `ADDRESS PORT`, and
/// sends requests in as many writes as it is told, each of 50 octets; with `cork` it corks the socket first.
pub(crate) const SERVICE: &str = r#"
import socket, sys, threading, time
print("ready")

def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET

def answer(end, size):
    while True:
        got = 0
        while got < size:
            part = end.recv(size - got)
            if not part:
                return
            got += len(part)
        end.sendall(b"y")

def serve(address, size):
    sys.stdin.readline()
    listener = socket.socket(family(address))
    listener.bind((address, 0))
    listener.listen()
    print(listener.getsockname()[1])
    while True:
        end, _ = listener.accept()
        threading.Thread(target=answer, args=(end, size), daemon=True).start()

def ask(writes, corked):
    address, port = sys.stdin.readline().split()
    client = socket.create_connection((address, int(port)))
    if corked:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    print("asking")
    while True:
        for _ in range(writes):
            client.send(b"q" * 50)
        if not client.recv(1):
            return
        time.sleep(0.001)

if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    ask(int(sys.argv[2]), "cork" in sys.argv[3:])
"#;
