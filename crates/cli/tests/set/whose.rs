//! Whose sockets `tinygram set` leaves alone: SSH's, on whatever port, those that are there and those to come; and those that a
//! process of another control group made.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::hosting::{
    Place, Program, control_groups, may_make_namespaces, may_set, said, tinygram,
};

/// A program of the name that it is told. `listen` prints a port, on which it echoes; `connect PORT` talks for a second, and
/// prints whether this end then has NODELAY; `accepted` prints that of each connection that came, in order.
const PROGRAM: &str = r#"
import socket, subprocess, sys, threading, time
open("/proc/self/comm", "w").write(sys.argv[1])
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
accepted, connected = [], []
nodelay = lambda end: bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
def echo(end):
    while octets := end.recv(100):
        end.sendall(octets)
def accept(listener):
    while True:
        accepted.append(listener.accept()[0])
        threading.Thread(target=echo, args=(accepted[-1],), daemon=True).start()
print("ready")
for line in sys.stdin:
    words = line.split()
    if words[0] == "listen":
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        print(listener.getsockname()[1])
    elif words[0] == "connect":
        connected.append(socket.create_connection(("127.0.0.1", int(words[1]))))
        for _ in range(50):
            connected[-1].sendall(b"x")
            connected[-1].recv(1)
            time.sleep(0.02)
        print(nodelay(connected[-1]))
    else:
        print(*map(nodelay, accepted))
"#;

impl Program {
    fn named(name: &str, place: Place) -> Self {
        Self::start(PROGRAM, &[name], place)
    }

    fn asked(&mut self, line: &str) -> String {
        self.tell(line);
        self.line()
    }
}

/// `set --follow` in a program's network namespace. It is ended with this value.
struct Following(Child);

impl Following {
    /// Starts it, and returns it with what it said once it follows.
    fn of(words: &[&str], inside: &Program, journal: &Path) -> (Self, String) {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &inside.pid().to_string()]);
        command.args([env!("CARGO_BIN_EXE_tinygram"), "set"]);
        command.args(words).args(["nodelay=on", "--follow"]);
        command.arg("--journal").arg(journal.join("state"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        while !said.contains("Put back at Ctrl-C") {
            said += &lines.next().expect("it goes on").unwrap();
            said.push('\n');
        }
        // The pipe stays open while the process lives.
        std::thread::spawn(move || lines.for_each(drop));
        (Self(child), said)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        // SAFETY: a process of this test's.
        unsafe { libc::kill(self.0.id().cast_signed(), libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn ssh_is_left_alone_on_every_port_now_and_later() {
    if !may_set() || !may_make_namespaces() {
        return;
    }
    let journal = tempfile::tempdir().unwrap();
    let mut web = Program::named("web", Place::New);
    let there = Place::Of(web.pid());
    let mut sshd = Program::named("sshd", there);
    let mut curl = Program::named("curl", there);
    let to_web = format!("connect {}", web.asked("listen"));
    let to_sshd = format!("connect {}", sshd.asked("listen"));
    assert_eq!(curl.asked(&to_web), "False");
    assert_eq!(curl.asked(&to_sshd), "False");
    let (_following, said) = Following::of(&["--all"], &web, journal.path());
    assert!(said.contains("SSH"), "{said}");

    // One that begins later is known, too.
    let mut late = Program::named("sshd-late", there);
    let to_late = format!("connect {}", late.asked("listen"));
    let mut ssh = Program::named("ssh", there);
    assert_eq!(
        curl.asked(&to_sshd),
        "True",
        "curl's own end is nobody else's"
    );
    assert_eq!(curl.asked(&to_late), "True");
    assert_eq!(ssh.asked(&to_web), "False");
    assert_eq!(ssh.asked(&to_sshd), "False");
    assert_eq!(curl.asked(&to_web), "True");
    assert_eq!(web.asked("accepted"), "True True True");
    assert_eq!(sshd.asked("accepted"), "False False False");
    assert_eq!(late.asked("accepted"), "False");
    drop(_following);
    assert_eq!(web.asked("accepted"), "False False False");
}

/// By its process: a target that means sshd and nothing else.
#[test]
fn ssh_is_followed_if_it_is_named() {
    if !may_set() || !may_make_namespaces() {
        return;
    }
    let journal = tempfile::tempdir().unwrap();
    let mut sshd = Program::named("sshd", Place::New);
    let there = Place::Of(sshd.pid());
    let to_sshd = format!("connect {}", sshd.asked("listen"));
    let mut curl = Program::named("curl", there);
    assert_eq!(curl.asked(&to_sshd), "False");
    let pid = sshd.pid().to_string();
    let (_following, _) = Following::of(&[&pid], &sshd, journal.path());
    assert_eq!(curl.asked(&to_sshd), "False", "it is not its");
    assert_eq!(sshd.asked("accepted"), "True True");
    drop(_following);
    let listed = tinygram(&journal.path().join("state"), &["set", "--list"]);
    assert_eq!(said(&listed), "No change is in force.\n");
}

/// A socket's control group is that of the process that made it.
#[test]
fn what_a_process_made_before_it_was_moved_is_named_as_not_matched() {
    if !may_set() || !may_make_namespaces() {
        return;
    }
    let Some(root) = control_groups() else {
        return;
    };
    let journal = tempfile::tempdir().unwrap();
    let mut web = Program::named("web", Place::New);
    let mut curl = Program::named("curl", Place::Of(web.pid()));
    let to_web = format!("connect {}", web.asked("listen"));
    assert_eq!(curl.asked(&to_web), "False");
    let group = root.join(format!("tinygram-whose-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    fs::write(group.join("cgroup.procs"), curl.pid().to_string()).unwrap();
    let name = format!("/{}", group.file_name().unwrap().to_str().unwrap());
    let set = || tinygram(&journal.path().join("state"), &["set", &name, "nodelay=on"]);
    let moved = set();
    assert_eq!(curl.asked(&to_web), "False");
    let made_there = set();
    drop(curl);
    fs::remove_dir(&group).unwrap();

    assert_eq!(moved.status.code(), Some(1), "{}", said(&moved));
    let not_matched = "1 not matched: a process of another control group made them";
    assert!(said(&moved).contains(not_matched), "{}", said(&moved));
    assert_eq!(made_there.status.code(), Some(0), "{}", said(&made_there));
    assert!(
        said(&made_there).contains("1 changed"),
        "{}",
        said(&made_there)
    );
    assert!(
        said(&made_there).contains(not_matched),
        "{}",
        said(&made_there)
    );
    assert_eq!(web.asked("accepted"), "False False");
}

/// A service manager of the name systemd that listens for a program of SSH, and prints the port. With `yes` it accepts, and gives each
/// connection to a program of its own (`Accept=yes`); with `no` it gives the listener away when told to. What it starts says with each
/// octet whether its connection has NODELAY.
const MANAGER: &str = r#"
import os, signal, socket, subprocess, sys, threading
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
called = lambda name: open("/proc/self/comm", "w").write(name)
called("systemd")
def say(end):
    while end.recv(1):
        end.sendall(b"1" if end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) else b"0")
alive, lives = os.pipe()
def end_with_manager():
    os.read(alive, 1)
    os._exit(0)
def as_sshd(serve):
    if not os.fork():
        called("sshd")
        os.close(lives)
        threading.Thread(target=end_with_manager, daemon=True).start()
        serve()
        os._exit(0)
def serve_all(listener):
    while True:
        threading.Thread(target=say, args=(listener.accept()[0],), daemon=True).start()
def accept_all(listener):
    while True:
        with listener.accept()[0] as end:
            as_sshd(lambda: say(end))
print("ready")
listener = socket.create_server(("127.0.0.1", 0))
if sys.argv[1] == "yes":
    threading.Thread(target=accept_all, args=(listener,), daemon=True).start()
print(listener.getsockname()[1])
for line in sys.stdin:
    as_sshd(lambda: serve_all(listener))
    print("given")
"#;

/// A client of such a program.
const ASKER: &str = r#"
import socket, sys, time
print("ready")
ends = []
for line in sys.stdin:
    words = line.split()
    if words[0] == "connect":
        ends.append(socket.create_connection(("127.0.0.1", int(words[1]))))
    # Long enough for a connection to be followed.
    for _ in range(50):
        ends[-1].sendall(b"?")
        said = ends[-1].recv(1)
        time.sleep(0.02)
    print(said.decode(), len(ends))
"#;

/// Socket activation: systemd listens, and whatever it starts has the socket.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn ssh_is_left_alone_though_another_program_listens_for_it() {
    if !may_set() || !may_make_namespaces() {
        return;
    }
    for accepts in ["yes", "no"] {
        let journal = tempfile::tempdir().unwrap();
        let mut manager = Program::start(MANAGER, &[accepts], Place::New);
        let port = manager.line();
        if accepts == "no" {
            assert_eq!(manager.asked("give"), "given");
        }
        let mut client = Program::start(ASKER, &[], Place::Of(manager.pid()));
        assert_eq!(client.asked(&format!("connect {port}")), "0 1", "{accepts}");
        let set = |target: &str| {
            let mut command = Command::new("nsenter");
            command.args(["--net", "--target", &manager.pid().to_string()]);
            command.args([env!("CARGO_BIN_EXE_tinygram"), "set", target, "nodelay=on"]);
            command.arg("--journal").arg(journal.path().join("state"));
            command.output().unwrap()
        };
        for target in ["--all", &port] {
            let output = set(target);
            assert!(
                said(&output).contains("SSH"),
                "{accepts}: {}",
                said(&output)
            );
            assert_eq!(client.asked("again"), "0 1", "{accepts} {target}");
        }
        // Its port is known from the connection that is open.
        let following = Following::of(&["--all"], &manager, journal.path());
        assert_eq!(client.asked(&format!("connect {port}")), "0 2", "{accepts}");
        drop(following);
    }
}
