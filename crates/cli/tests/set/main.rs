//! `tinygram set` on sockets of this process, with a journal of its own.
#![cfg(target_os = "linux")]

#[path = "../hosting/mod.rs"]
mod hosting;
mod lacking;
mod refused;
mod whose;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hosting::{may_set, said};

struct Sockets {
    client: TcpStream,
    server: TcpStream,
    listener: TcpListener,
    port: u16,
    journal: tempfile::TempDir,
}

impl Sockets {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        Self {
            client,
            server: listener.accept().unwrap().0,
            listener,
            port,
            journal: tempfile::tempdir().unwrap(),
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        let port = self.port.to_string();
        let words = words.iter().map(|word| match *word {
            "PORT" => port.as_str(),
            word => word,
        });
        command.arg("set").args(words);
        let folder = self.journal.path().join("state");
        command.arg("--journal").arg(folder);
        command
    }

    fn set(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn ps(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command.args(["ps", &self.port.to_string(), "--journal"]);
        let folder = self.journal.path().join("state");
        command.arg(folder).output().unwrap()
    }

    fn nodelay(&self) -> [bool; 2] {
        [&self.client, &self.server].map(|end| end.nodelay().unwrap())
    }
}

#[test]
fn what_is_set_is_listed_and_put_back() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let output = sockets.set(&["PORT", "nodelay=on"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        said(&output).contains("2 changed, 2 from off"),
        "{}",
        said(&output)
    );
    // Which ends these are, and how to mean one of them.
    let port = sockets.port;
    let ends =
        format!("both ends of 1 connection are on this host and are meant: at port {port} set");
    assert!(said(&output).contains(&ends), "{}", said(&output));
    let narrower = format!("--peer :{port} means the other end alone");
    assert!(said(&output).contains(&narrower), "{}", said(&output));
    assert_eq!(sockets.nodelay(), [true, true]);
    let listed = said(&sockets.set(&["--list"]));
    assert!(listed.starts_with("1: nodelay=on on 2 sockets"), "{listed}");
    let shown = said(&sockets.ps());
    let by = format!(
        "^ nodelay=on (before: off) by `tinygram set {}",
        sockets.port
    );
    assert_eq!(shown.matches(&by).count(), 2, "{shown}");
    assert!(
        shown.contains("tinygram set --undo 1 puts it back"),
        "{shown}"
    );

    // One of them is the program's own by now.
    sockets.client.set_nodelay(false).unwrap();
    sockets.client.set_nodelay(true).unwrap();
    sockets.server.set_nodelay(false).unwrap();
    let undone = said(&sockets.set(&["--undo", "1"]));
    assert!(undone.contains("1 put back; 1 left alone"), "{undone}");
    assert_eq!(sockets.nodelay(), [false, false]);
    assert!(said(&sockets.set(&["--list"])).contains("No change"));
    assert!(!said(&sockets.ps()).contains("nodelay=on (before"));
    assert_eq!(sockets.set(&["--undo"]).status.code(), Some(1));
    assert_eq!(sockets.set(&["--undo", "1"]).status.code(), Some(2));
}

/// It needs no privilege either.
#[test]
fn who_asks_for_changes_where_there_were_none_leaves_nothing() {
    let sockets = Sockets::open();
    let folder = sockets.journal.path().join("state");
    let listed = sockets.set(&["--list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", said(&listed));
    assert_eq!(said(&listed), "No change is in force.\n");
    let none = sockets.set(&["--undo"]);
    assert_eq!(none.status.code(), Some(1), "{}", said(&none));
    let numbered = sockets.set(&["--undo", "7"]);
    assert_eq!(numbered.status.code(), Some(2), "{}", said(&numbered));
    assert!(!folder.exists());
}

#[test]
fn a_peer_narrows_and_a_dry_run_changes_nothing() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let peer = format!(":{}", sockets.port);
    let output = sockets.set(&["PORT", "nodelay=on", "--peer", &peer, "--dry-run"]);
    assert!(
        said(&output).contains("would change 1"),
        "{}",
        said(&output)
    );
    assert_eq!(sockets.nodelay(), [false, false]);
    let output = sockets.set(&["PORT", "nodelay=on", "--peer", &peer]);
    assert!(said(&output).contains("1 changed"), "{}", said(&output));
    assert!(!said(&output).contains("both ends"), "{}", said(&output));
    assert_eq!(sockets.nodelay(), [true, false]);
    let output = sockets.set(&["PORT", "nodelay=on", "--peer", "10.0.0.0/8"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
}

/// Starts a change for an hour, and returns once it is made.
fn for_an_hour(sockets: &Sockets) -> std::process::Child {
    let mut command = sockets.command(&["PORT", "nodelay=on", "--for", "1h"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains("Put back after") {}
    // The pipe stays open while the process lives.
    std::thread::spawn(move || lines.for_each(drop));
    assert_eq!(sockets.nodelay(), [true, true]);
    child
}

#[test]
fn a_change_for_a_time_is_put_back_when_it_is_stopped() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let mut child = for_an_hour(&sockets);
    // SAFETY: a process of this test's.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(sockets.nodelay(), [false, false]);
}

#[test]
fn what_a_killed_process_left_is_offered_and_put_back() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let mut child = for_an_hour(&sockets);
    let list = said(&sockets.set(&["--list"]));
    assert!(list.contains("which puts it back at 2"), "{list}");
    // While it runs, an undo of everything leaves it alone.
    assert_eq!(sockets.set(&["--undo"]).status.code(), Some(1));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        sockets.nodelay(),
        [true, true],
        "nobody was there to put it back"
    );
    let other = Sockets::open();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(["set", &other.port.to_string(), "nodelay=on", "--journal"]);
    let output = command
        .arg(sockets.journal.path().join("state"))
        .output()
        .unwrap();
    assert!(
        said(&output).contains("change 1 (nodelay=on) is still in force"),
        "{}",
        said(&output)
    );
    let undone = said(&sockets.set(&["--undo"]));
    assert!(undone.contains("Change 1: 2 put back"), "{undone}");
    assert_eq!(sockets.nodelay(), [false, false]);
    assert_eq!(other.nodelay(), [false, false]);
}

/// `ps` and `set --list` say how long a change lasts: an hour from now, to the second in which it was begun.
#[test]
#[expect(clippy::disallowed_methods, reason = "the time of day is shown")]
fn until_when_a_change_lasts_is_shown() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut child = for_an_hour(&sockets);
    let shown = said(&sockets.ps());
    let listed = said(&sockets.set(&["--list", "--json"]));
    // SAFETY: a process of this test's.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let by = format!("process {} puts it back at ", child.id());
    assert_eq!(shown.matches(&by).count(), 2, "{shown}");
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let until = listed["in_force"][0]["until"].as_str().expect("a time");
    assert!(shown.contains(&format!("{by}{until}")), "{shown}");
    let until: jiff::Timestamp = until.parse().unwrap();
    let lasts = u64::try_from(until.as_second()).unwrap() - begun.as_secs();
    assert!((3600..3700).contains(&lasts), "{lasts}");
}

/// A connection that is opened while `set --follow` runs.
struct Later {
    client: TcpStream,
    server: TcpStream,
}

impl Later {
    fn open(sockets: &Sockets) -> Self {
        let client = TcpStream::connect(("127.0.0.1", sockets.port)).unwrap();
        let server = sockets.listener.accept().unwrap().0;
        Self { client, server }
    }

    /// Talks until both ends have NODELAY.
    #[expect(clippy::disallowed_methods, reason = "the kernel works in real time")]
    fn talk_until_set(&mut self) {
        let begun = Instant::now();
        while !(self.client.nodelay().unwrap() && self.server.nodelay().unwrap()) {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "it was never set"
            );
            self.client.write_all(b"x").unwrap();
            self.server.read_exact(&mut [0]).unwrap();
            self.server.write_all(b"y").unwrap();
            self.client.read_exact(&mut [0]).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn nodelay(&self) -> [bool; 2] {
        [&self.client, &self.server].map(|end| end.nodelay().unwrap())
    }
}

/// Begins to follow the port, and returns once it does.
fn following(sockets: &Sockets) -> std::process::Child {
    let mut command = sockets.command(&["PORT", "nodelay=on", "--follow"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines
        .next()
        .unwrap()
        .unwrap()
        .contains("Put back at Ctrl-C")
    {}
    std::thread::spawn(move || lines.for_each(drop));
    assert_eq!(sockets.nodelay(), [true, true]);
    child
}

#[test]
fn connections_to_come_are_followed_and_put_back() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let mut child = following(&sockets);
    let mut one = Later::open(&sockets);
    one.talk_until_set();
    let mut other = Later::open(&sockets);
    other.talk_until_set();
    // The program has the last word.
    other.server.set_nodelay(false).unwrap();
    let listed = said(&sockets.set(&["--list"]));
    assert!(listed.contains("nodelay=on on 4 sockets"), "{listed}");
    // SAFETY: a process of this test's.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(sockets.nodelay(), [false, false]);
    assert_eq!(one.nodelay(), [false, false]);
    assert_eq!(other.nodelay(), [false, false]);
    let after = Later::open(&sockets);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(after.nodelay(), [false, false], "nobody follows any more");
}

#[test]
fn a_connection_that_only_receives_is_set_too() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let mut child = following(&sockets);
    let mut quiet = Later::open(&sockets);
    for _ in 0..500 {
        quiet.server.write_all(b"x").unwrap();
        quiet.client.read_exact(&mut [0]).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        if quiet.nodelay() == [true, true] {
            break;
        }
    }
    assert_eq!(quiet.nodelay(), [true, true]);
    // SAFETY: a process of this test's.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(quiet.nodelay(), [false, false]);
}

#[test]
fn what_a_killed_follower_left_is_put_back() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let mut child = following(&sockets);
    let mut later = Later::open(&sockets);
    later.talk_until_set();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut after = Later::open(&sockets);
    let undone = said(&sockets.set(&["--undo"]));
    assert!(undone.contains("Change 2: 2 put back"), "{undone}");
    assert_eq!(sockets.nodelay(), [false, false]);
    assert_eq!(later.nodelay(), [false, false]);
    after.client.write_all(b"x").unwrap();
    after.server.read_exact(&mut [0]).unwrap();
    assert_eq!(after.nodelay(), [false, false]);
}

/// A server without connections has connections to come.
#[test]
fn a_dry_run_says_what_it_would_follow() {
    if !may_set() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args([
            "set",
            &port.to_string(),
            "nodelay=on",
            "--follow",
            "--dry-run",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let said = said(&output);
    let rule = format!("from port {port} here");
    assert!(said.contains(&rule), "{said}");
}

/// While it waits to put back what it set, a program sets the same value: that is the program's own decision.
#[test]
fn what_its_program_sets_meanwhile_stays() {
    if !may_set() {
        return;
    }
    let sockets = Sockets::open();
    let mut child = sockets
        .command(&["PORT", "nodelay=on", "--for", "3s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while sockets.nodelay() != [true, true] {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before");
        std::thread::sleep(Duration::from_millis(10));
    }
    sockets.client.set_nodelay(true).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    if said.contains("cannot be seen") {
        eprintln!("skipped: {said}");
        return;
    }
    assert_eq!(sockets.nodelay(), [true, false], "{said}");
    assert!(
        said.contains("1 left alone, for their program has set them meanwhile"),
        "{said}"
    );
    assert!(!said.contains("cannot be told"), "{said}");
    // Without the hook the value decides, and it is said that it does.
    sockets.set(&["PORT", "nodelay=on"]);
    let undone = sockets.set(&["--undo"]);
    let text = String::from_utf8_lossy(&undone.stdout).into_owned();
    assert!(text.contains("cannot be told"), "{text}");
}
