//! `tinygram cure` of a server that has forked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::hosting::{may_set, said};

/// A server whose workers were forked after it listened: each has connections of its own.
const PRE_FORKING: &str = r#"
import os, socket, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def answer():
    while True:
        end, _ = listener.accept()
        def serve(end=end):
            while end.recv(50):
                end.send(b"h" * 100)
                end.send(b"b" * 200)
        threading.Thread(target=serve, daemon=True).start()
parent = os.getpid()
for _ in range(2):
    if not os.fork():
        answer()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
os.killpg(0, 9)
"#;

/// The process that is named has no connection itself.
#[test]
fn a_pre_forking_servers_other_processes_are_meant_with_it() {
    if !may_set() {
        return;
    }
    let mut server = Command::new("python3");
    server.args(["-c", PRE_FORKING]).process_group(0);
    server.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().expect("python3 starts");
    let mut line = String::new();
    let mut printed = BufReader::new(server.stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", line.trim().parse().unwrap())).unwrap();
    let asks = std::thread::spawn(move || {
        let mut answer = [0; 300];
        while client.write_all(&[b'q'; 50]).is_ok() && client.read_exact(&mut answer).is_ok() {}
    });
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let pid = server.id().to_string();
    command.args(["cure", &pid, "--look", "1s", "--dry-run", "--journal"]);
    let output = command.arg(folder.path().join("state")).output().unwrap();
    drop(server.stdin.take());
    server.wait().unwrap();
    asks.join().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("2 other processes listen on the same socket"),
        "{text}"
    );
    assert!(
        text.contains("nodelay=on on the server's sockets"),
        "{text}"
    );
}
