//! What happens in the middle of a cure or a sweep: the target ends, forks or loses its control group, or tinygram is killed.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::hosting::{
    Place, Program, control_groups, may_make_namespaces, may_set, said, tinygram,
};
use tinygram_host::hand::Hand;
use tinygram_host::namespace::Namespace;

/// Both ends of a conversation that stalls, in a namespace of its own and in the control group that it is told. Upon a line it
/// forks and goes on in the child.
const CONVERSATION: &str = r#"
import os, socket, subprocess, sys, threading, time
if len(sys.argv) > 1:
    with open(sys.argv[1] + "/cgroup.procs", "w") as group:
        group.write(str(os.getpid()))
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
print("ready", flush=True)
def answer():
    while server.recv(50):
        server.send(b"h" * 100)
        server.send(b"b" * 200)
def ask():
    while True:
        client.send(b"q" * 50)
        got = 0
        while got < 300:
            got += len(client.recv(300 - got))
        time.sleep(0.001)
def talk():
    threading.Thread(target=answer, daemon=True).start()
    threading.Thread(target=ask, daemon=True).start()
talk()
if sys.stdin.readline() == "fork\n":
    if os.fork():
        os._exit(0)
    talk()
    print("forked", flush=True)
    sys.stdin.readline()
"#;

/// A cure that has begun to try.
struct Cure {
    child: Child,
    journal: PathBuf,
    _folder: tempfile::TempDir,
}

impl Cure {
    /// Starts it, and waits until a remedy is on.
    fn of(target: &str, program: &Program) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("state");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command
            .args(["cure", target, "--look", "1s", "--journal"])
            .arg(&journal);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let namespace = Namespace::of(program.pid()).unwrap();
        let mut hand = Hand::open().unwrap();
        let mut is_on = || {
            let sockets = namespace.within(|| hand.sockets()).unwrap().unwrap();
            sockets.iter().any(tinygram_host::hand::Socket::nodelay)
        };
        while !is_on() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self {
            child,
            journal,
            _folder: folder,
        }
    }

    /// Returns the exit code and what it said, and asserts that nothing is left to be put back after an undo.
    fn end(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().unwrap();
        let text = said(&output);
        assert!(!text.contains("panicked"), "{text}");
        tinygram(&self.journal, &["set", "--undo"]);
        let list = said(&tinygram(&self.journal, &["set", "--list"]));
        assert!(list.contains("No change"), "{list}");
        (output.status.code(), text)
    }
}

fn conversation(words: &[&str]) -> Option<Program> {
    let may = may_set() && may_make_namespaces();
    may.then(|| Program::start(CONVERSATION, words, Place::New))
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_target_that_ends_is_no_error() {
    let Some(program) = conversation(&[]) else {
        return;
    };
    let cure = Cure::of(&program.pid().to_string(), &program);
    drop(program);
    let (code, text) = cure.end();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("cannot tell, too little was seen"), "{text}");
}

/// Its sockets are the child's from then on.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_target_that_forks_is_no_error() {
    let Some(mut program) = conversation(&[]) else {
        return;
    };
    let cure = Cure::of(&program.pid().to_string(), &program);
    program.tell("fork");
    assert_eq!(program.line(), "forked");
    let (code, text) = cure.end();
    assert!(matches!(code, Some(0 | 1 | 3)), "{text}");
}

/// The processes of a control group move elsewhere, and it is removed.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_control_group_that_goes_away_is_no_error() {
    let Some(root) = control_groups() else {
        return;
    };
    let group = root.join(format!("tinygram-midway-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    let Some(program) = conversation(&[group.to_str().unwrap()]) else {
        fs::remove_dir(&group).unwrap();
        return;
    };
    let name = format!("/{}", group.file_name().unwrap().to_str().unwrap());
    let cure = Cure::of(&name, &program);
    fs::write(root.join("cgroup.procs"), program.pid().to_string()).unwrap();
    fs::remove_dir(&group).unwrap();
    let (code, text) = cure.end();
    assert!(matches!(code, Some(0 | 1 | 3)), "{text}");
}

/// Killed at some point after its first line in the journal, in the middle of a sweep over eight hundred sockets or after it: the
/// undo makes all values those of before.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn what_a_killed_sweep_left_is_put_back() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let connections: Vec<_> = (0..400)
        .map(|number| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            // Some have it already.
            client.set_nodelay(number % 5 == 0).unwrap();
            (client, listener.accept().unwrap().0)
        })
        .collect();
    let values = || -> Vec<[bool; 2]> {
        let of = |(client, server): &(TcpStream, TcpStream)| {
            [client.nodelay().unwrap(), server.nodelay().unwrap()]
        };
        connections.iter().map(of).collect()
    };
    let before = values();
    let mut were_changed = 0;
    for step in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("state");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command
            .args(["set", &port, "nodelay=on", "--journal"])
            .arg(&journal);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while !fs::metadata(journal.join("journal")).is_ok_and(|about| about.len() > 0) {
            assert_eq!(child.try_wait().unwrap(), None, "it ended before");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(500 * step));
        child.kill().unwrap();
        child.wait().unwrap();
        were_changed += usize::from(values() != before);
        let undone = said(&tinygram(&journal, &["set", "--undo"]));
        assert_eq!(values(), before, "step {step}: {undone}");
        let list = said(&tinygram(&journal, &["set", "--list"]));
        assert!(list.contains("No change"), "{list}");
    }
    assert!(were_changed > 0, "every kill came too early");
}
