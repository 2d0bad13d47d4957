//! `tinygram cure` by halves of the clients, and by turns of time.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::hosting::{may_set, said, tinygram};

/// A server with a process for each connection, and as many clients as it is told, each a process that thinks for 20 ms. The
/// server answers in two writes.
const SERVICE: &str = r#"
import os, socket, sys, time
listener = socket.create_server(("127.0.0.1", 0), backlog=200)
print(listener.getsockname()[1], flush=True)
clients, shares = int(sys.argv[1]), int(sys.argv[2])
for _ in range(clients):
    if os.fork():
        continue
    ends = [socket.create_connection(listener.getsockname()) for _ in range(shares)]
    listener.close()
    while True:
        for end in ends:
            end.send(b"q" * 50)
            got = 0
            while got < 300:
                got += len(end.recv(300 - got))
        time.sleep(0.02)
for _ in range(clients * shares):
    end, _ = listener.accept()
    if os.fork():
        end.close()
        continue
    listener.close()
    while end.recv(50):
        end.send(b"h" * 100)
        end.send(b"b" * 200)
    sys.exit()
print("answering", flush=True)
sys.stdin.read()
"#;

struct Service {
    child: Child,
    port: String,
}

impl Service {
    fn start(clients: &str, connections_each: &str) -> Self {
        let mut python = Command::new("python3");
        python
            .args(["-c", SERVICE, clients, connections_each])
            .process_group(0);
        python.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().expect("python3 starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.next().unwrap().unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "answering");
        Self { child, port }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // SAFETY: a group of this test's.
        unsafe { libc::kill(-self.child.id().cast_signed(), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

/// Clients that are many and share nothing: half of them have the remedy in each period, and in the end all.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn many_clients_are_tried_by_halves() {
    if !may_set() {
        return;
    }
    let service = Service::start("24", "1");
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("state");
    let cured = tinygram(
        &journal,
        &["cure", &service.port, "--look", "2s", "--seed", "5"],
    );
    let text = said(&cured);
    assert!(
        text.contains("in each of which half of 24 clients have it, drawn by seed 5"),
        "{text}"
    );
    assert_eq!(cured.status.code(), Some(0), "{text}");
    let listed = said(&tinygram(&journal, &["set", "--list"]));
    assert!(listed.contains("24 sockets"), "{listed}");
    assert!(listed.contains("--seed 5"), "{listed}");
    let undone = said(&tinygram(&journal, &["set", "--undo"]));
    assert!(undone.contains("24 put back"), "{undone}");
}

/// Two connections of one client wait for each other; ten clients are few.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn few_clients_are_tried_by_turns() {
    if !may_set() {
        return;
    }
    let service = Service::start("10", "2");
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("state");
    let cured = tinygram(&journal, &["cure", &service.port, "--look", "2s"]);
    let text = said(&cured);
    assert!(text.contains("by turns, for 10 clients are few"), "{text}");
    assert_eq!(cured.status.code(), Some(0), "{text}");
}
