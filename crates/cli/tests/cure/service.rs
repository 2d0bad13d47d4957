//! `tinygram cure` on a server of this test's that stalls.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::answering::Service;
use crate::hosting::{may_set, said};

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_stall_is_cured_on_the_running_server_and_put_back() {
    if !may_set() {
        return;
    }
    let service = Service::start();
    let port = service.port.to_string();
    let dry = service.tinygram("cure", &[&port, "--look", "2s", "--dry-run"]);
    assert_eq!(dry.status.code(), Some(0), "{}", said(&dry));
    let text = said(&dry);
    assert!(
        text.contains("nodelay=on on the server's sockets"),
        "{text}"
    );
    assert!(text.contains("delack-max=8 ms on the clients'"), "{text}");
    // What whatif expects of each, knobs included: the stall ends, or twelve milliseconds of it are left.
    let lines: Vec<&str> = text.lines().collect();
    let offered = lines
        .iter()
        .filter(|line| line.contains(": needs "))
        .count();
    let expected = lines
        .iter()
        .filter(|line| line.contains("expected: a turn's p50 4"))
        .count();
    assert!(expected >= 2 && expected == offered, "{text}");
    // What changes the program comes last, and needs another privilege or none.
    let of_owners = text
        .find(": needs a restart (a Go")
        .zip(text.find(": needs a change of the program"));
    let settings = text.rfind(": needs root");
    assert!(
        of_owners.is_some_and(|(run, writev)| settings < Some(run) && run < writev),
        "{text}"
    );
    assert!(!service.server.nodelay().unwrap());

    let cured = service.tinygram("cure", &[&port, "--look", "2s"]);
    assert_eq!(cured.status.code(), Some(0), "{}", said(&cured));
    assert!(said(&cured).contains("Kept"), "{}", said(&cured));
    // It is told before the trial, and compared after it.
    let text = said(&cured);
    assert!(text.contains("cure: expected: a turn's p50 4"), "{text}");
    assert!(text.contains("expected with it: p50"), "{text}");
    assert!(text.contains("processor time of its processes"), "{text}");
    assert!(!text.contains("cannot tell what it would do"), "{text}");
    assert!(service.server.nodelay().unwrap());

    let undone = service.tinygram("set", &["--undo"]);
    assert_eq!(undone.status.code(), Some(0), "{}", said(&undone));
    assert!(!service.server.nodelay().unwrap());
    assert!(said(&service.tinygram("set", &["--list"])).contains("No change"));
}

#[test]
fn what_does_not_stall_is_left_alone() {
    if !may_set() {
        return;
    }
    let service = Service::start();
    service.server.set_nodelay(true).unwrap();
    let port = service.port.to_string();
    let output = service.tinygram("cure", &[&port, "--look", "500ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        said(&output).contains("no stall that a setting ends"),
        "{}",
        said(&output)
    );
    let list = service.tinygram("set", &["--list"]);
    assert!(said(&list).contains("No change"), "{}", said(&list));
}

/// No connection sends anything: nobody knows what it would do.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn where_nothing_is_sent_it_cannot_tell() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let server = listener.accept().unwrap().0;
    let journal = tempfile::tempdir().unwrap();
    let cure = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(["cure", &port, "--look", "500ms", "--journal"])
            .arg(journal.path().join("state"))
            .args(more)
            .output()
            .unwrap()
    };
    for more in [&["--dry-run"][..], &[]] {
        let output = cure(more);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        let text = said(&output);
        let is_said = text.contains(": cannot tell: in ")
            && text.contains(" nothing was sent on 2 connections");
        assert!(is_said, "{text}");
    }
    let output = cure(&["--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["data_segments_sent"], 0, "{document:#}");
    assert_eq!(document["data_segments_received"], 0, "{document:#}");
    assert_eq!(document["silent"], true, "{document:#}");
    assert_eq!(document["connections"], 2, "{document:#}");
    drop((client, server, listener));
    let output = cure(&[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("no connection was found"), "{text}");
}

/// Reads until its peer closes.
const READS: &str = r#"
import socket, sys
end = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while end.recv(1000):
    pass
"#;

/// What a target receives tells as much as what it sends: its ACKs may be late.
#[test]
fn a_target_that_only_receives_is_not_silent() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut python = Command::new("python3");
    let mut reader = python.args(["-c", READS, &port]).spawn().unwrap();
    let mut end = listener.accept().unwrap().0;
    end.set_nodelay(true).unwrap();
    let feeder = std::thread::spawn(move || {
        while end.write_all(&[0; 100]).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let journal = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["cure", &reader.id().to_string(), "--look", "1s"])
        .args(["--json", "--dry-run", "--journal"])
        .arg(journal.path().join("state"))
        .output()
        .unwrap();
    reader.kill().unwrap();
    reader.wait().unwrap();
    feeder.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["data_segments_sent"], 0, "{document:#}");
    assert_eq!(document["silent"], false, "{document:#}");
}

/// Does `work` while `cure` looks at a port, with connections `at` it. Returns its exit code and what it said.
fn while_it_looks(port: u16, at: &str, work: impl FnOnce()) -> (Option<i32>, String) {
    let journal = tempfile::tempdir().unwrap();
    let mut cure = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["cure", &port.to_string(), "--look", "3s", "--journal"])
        .arg(journal.path().join("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut begun = String::new();
    let mut stderr = BufReader::new(cure.stderr.take().unwrap());
    while !begun.contains("looking for") {
        assert_ne!(stderr.read_line(&mut begun).unwrap(), 0, "{begun}");
    }
    assert!(begun.contains(at), "{begun}");
    work();
    let output = cure.wait_with_output().unwrap();
    (output.status.code(), said(&output))
}

/// A connection that comes while it looks is one that it looked at.
#[test]
fn connections_that_come_during_the_look_are_counted() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut ends = Vec::new();
    let (code, text) = while_it_looks(address.port(), "at 0 connections", || {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"once").unwrap();
        ends.push((client, listener.accept().unwrap().0));
    });
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("no stall that a setting ends"), "{text}");
    assert!(text.contains("on 2 connections"), "{text}");
}

/// What went over them is not known: their counts are gone.
#[test]
fn connections_that_close_during_the_look_are_no_silent_ones() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let server = listener.accept().unwrap().0;
    let (code, text) = while_it_looks(address.port(), "at 2 connections", || {
        client.write_all(b"once").unwrap();
        drop((client, server));
    });
    assert_eq!(code, Some(3), "{text}");
    let why = "all 2 connections closed while it looked";
    assert!(text.contains(why), "{text}");
}

/// A client that writes twice and then reads.
const CLIENT: &str = r#"
import socket, sys, time
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    client.sendall(b"h" * 50)
    client.sendall(b"b" * 50)
    if not client.recv(100):
        break
    time.sleep(0.001)
"#;

/// Two clients of one server stall; one of them is meant.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn who_is_not_meant_is_left_alone() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut clients: Vec<_> = (0..2)
        .map(|_| {
            let mut python = Command::new("python3");
            python.args(["-c", CLIENT, &port.to_string()]);
            python.spawn().expect("python3 starts")
        })
        .collect();
    for _ in 0..2 {
        let mut end = listener.accept().unwrap().0;
        std::thread::spawn(move || {
            let mut request = [0; 100];
            while end.read_exact(&mut request).is_ok() && end.write_all(b"y").is_ok() {}
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args([
        "cure",
        &clients[0].id().to_string(),
        "--look",
        "1s",
        "--journal",
    ]);
    let output = command.arg(folder.path().join("state")).output().unwrap();
    let sockets = tinygram_host::hand::Hand::open()
        .unwrap()
        .sockets()
        .unwrap();
    let to_server = sockets.iter().filter(|socket| socket.remote.port() == port);
    let with_nodelay = to_server.filter(|socket| socket.nodelay()).count();
    for client in &mut clients {
        let _ = client.kill();
        let _ = client.wait();
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        said(&output).contains("nodelay=on on 1 connection,"),
        "{}",
        said(&output)
    );
    assert_eq!(with_nodelay, 1, "{}", said(&output));
}

/// What is kept is for connections to come, too, and is put back at the end.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_watched_cure_follows_and_leaves_nothing() {
    if !may_set() {
        return;
    }
    let service = Service::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let port = service.port.to_string();
    command.args(["cure", &port, "--look", "1s", "--watch", "1m", "--journal"]);
    command.arg(service.journal.path().join("state"));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let kept = lines.find(|line| line.as_ref().unwrap().contains("connections to come, too"));
    assert!(kept.is_some(), "it ended before");
    assert!(service.server.nodelay().unwrap());
    let mut client = TcpStream::connect(("127.0.0.1", service.port)).unwrap();
    let mut server = service.listener.accept().unwrap().0;
    for _ in 0..2000 {
        client.write_all(b"x").unwrap();
        server.read_exact(&mut [0]).unwrap();
        server.write_all(b"y").unwrap();
        client.read_exact(&mut [0]).unwrap();
        if server.nodelay().unwrap() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(server.nodelay().unwrap(), "the new connection has it");
    assert!(
        !client.nodelay().unwrap(),
        "the client's end does not stall"
    );
    // SAFETY: a process of this test's.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!service.server.nodelay().unwrap());
    assert!(!server.nodelay().unwrap());
    let list = service.tinygram("set", &["--list"]);
    assert!(said(&list).contains("No change"), "{}", said(&list));
}

/// Stopped in the middle of a turn: nothing stays behind.
#[test]
fn a_trial_that_is_stopped_leaves_nothing() {
    if !may_set() {
        return;
    }
    let service = Service::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args([
        "cure",
        &service.port.to_string(),
        "--look",
        "500ms",
        "--journal",
    ]);
    command.arg(service.journal.path().join("state"));
    let mut child = command.spawn().unwrap();
    // Until the remedy is there, which is some turn's.
    while !service.server.nodelay().unwrap() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SAFETY: a process of this test's.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(!service.server.nodelay().unwrap());
    let list = service.tinygram("set", &["--list"]);
    assert!(said(&list).contains("No change"), "{}", said(&list));
}

#[test]
fn what_cannot_be_meant_is_refused_in_one_line() {
    for (words, part) in [
        (&["cure"][..], "TARGET"),
        (&["cure", "80", "--look", "0"], "length of time"),
        (
            &["cure", "80", "--max-extra-segments", "x"],
            "--max-extra-segments",
        ),
        (&["cure", "80", "--watch", "5s"], "from 1m to 24h"),
        (&["cure", "/no/such/group"], "no control group"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(words)
            .output()
            .unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part) && said.lines().count() == 1, "{said}");
    }
}
