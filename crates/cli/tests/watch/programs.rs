//! `watch` and `guard` on real programs: a Python server that writes its answer in two pieces.
//!
//! Without the necessary kernel or privileges, the tests say so and pass; in CI they fail.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::watching::Running;

/// Two writes an answer, or the same with TCP_NODELAY; both ends in one process.
const CONVERSATION: &str = r#"
import socket, sys, threading
rounds, nodelay = int(sys.argv[1]), sys.argv[2] == "nodelay"
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def read(end, length):
    while length:
        got = end.recv(length)
        if not got:
            return False
        length -= len(got)
    return True
def serve():
    end, _ = listener.accept()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    while read(end, 100):
        end.sendall(b"a" * 100)
        end.sendall(b"b" * 200)
server = threading.Thread(target=serve)
server.start()
client = socket.create_connection(listener.getsockname())
for _ in range(rounds):
    client.sendall(b"x" * 100)
    assert read(client, 300)
client.close()
server.join()
"#;

/// Twelve answers of two writes over a connection that stands when the port is printed, once the input ends.
const STOOD_BEFORE: &str = r#"
import socket, sys, threading
def bound():
    end = socket.socket()
    end.bind(("127.0.0.1", 0))
    return end
client, listener = sorted([bound(), bound()], key=lambda end: end.getsockname()[1])
listener.listen()
client.connect(listener.getsockname())
end, _ = listener.accept()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
def serve():
    for _ in range(12):
        end.recv(100, socket.MSG_WAITALL)
        end.sendall(b"a" * 100)
        end.sendall(b"b" * 200)
server = threading.Thread(target=serve)
server.start()
for _ in range(12):
    client.sendall(b"x" * 100)
    client.recv(300, socket.MSG_WAITALL)
server.join()
"#;

/// The line of `end.sendall(b"b" * 200)`.
const SECOND_WRITE: u32 = 18;

fn tinygram(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.args(arguments).env_remove("GITHUB_ACTIONS");
    command
}

fn conversation(rounds: u32, how: &str) -> Vec<String> {
    ["python3", "-c", CONVERSATION, &rounds.to_string(), how]
        .map(str::to_owned)
        .to_vec()
}

/// Returns whether this machine cannot do it, and prints the reason.
fn cannot(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    let lacking = [
        "takes root",
        "takes Linux",
        "could not look",
        "no type information",
    ];
    let skipped = !output.status.success() && lacking.iter().any(|words| said.contains(words));
    if skipped {
        assert!(std::env::var_os("CI").is_none(), "{said}");
        println!("skipped: {}", said.trim());
    }
    skipped
}

fn guard(options: &[&str], command: &[String]) -> Output {
    let mut guard = tinygram(&["guard"]);
    guard.args(options).arg("--").args(command);
    guard.output().expect("tinygram starts")
}

fn watch(arguments: &[&str]) -> Option<Running> {
    crate::watching::watch(arguments, Stdio::piped())
}

/// Waits for a watch to end, and returns what it printed.
fn printed(mut watch: Running) -> String {
    let mut printed = String::new();
    let stdout = watch.0.stdout.as_mut().expect("a pipe");
    stdout.read_to_string(&mut printed).expect("text");
    assert!(watch.0.wait().expect("it ends").success(), "{printed}");
    printed
}

#[test]
fn watch_names_the_process_that_is_held() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sites.json");
    let file = file.to_str().expect("UTF-8");
    let Some(watch) = watch(&["--once", "5s", "--json", "--sites", file]) else {
        return;
    };
    let words = conversation(12, "nagle");
    let mut talk = Command::new(&words[0])
        .args(&words[1..])
        .spawn()
        .expect("python3 starts");
    let pid = talk.id();
    assert!(talk.wait().expect("it ends").success());
    let said = printed(watch);
    let lines: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let stalls: Vec<_> = lines
        .iter()
        .filter(|line| line["event"] == "stall" && line["process"]["pid"] == pid)
        .collect();
    // The first answer is not held: the client still acknowledges at once.
    are_the_servers(stalls.iter().copied(), &said);
    for stall in &stalls {
        assert!(stall["cost_ns"].as_i64() > Some(30_000_000), "{stall}");
    }
    // The site is the Python line; at the first stall nobody knew that this is Python, and it is the function alone.
    let sites: Vec<_> = stalls
        .iter()
        .filter(|stall| stall["call_site"]["function"] == "serve")
        .collect();
    let placed: Vec<_> = sites
        .into_iter()
        .filter(|stall| !stall["call_site"]["line"].is_null())
        .collect();
    assert!(placed.len() + 2 >= stalls.len(), "{said}");
    for stall in &placed {
        assert_eq!(stall["call_site"]["line"], SECOND_WRITE, "{stall}");
    }
    let summary = lines.last().expect("a summary");
    let row = summary["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .find(|row| row["process"]["pid"] == pid);
    let row = row.expect("a row");
    assert_eq!(row["count"], stalls.len());
    assert_eq!(row["cure"], format!("tinygram cure --dry-run {pid}"));
    // Other tests hold similar conversations from the same line, so there may be more.
    let sites = std::fs::read_to_string(file).expect("the file is written");
    let sites: Value = serde_json::from_str(&sites).expect("JSON");
    assert_eq!(sites["schema"], "tinygram.sites/1");
    let line = sites["sites"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|site| site["function"] == "serve" && site["line"] == SECOND_WRITE);
    let line = line.expect("the line of the second write");
    assert_eq!(
        (&line["kind"], &line["side"]),
        (&"write-write-read".into(), &"server".into())
    );
    assert!(
        line["count"].as_u64() >= Some(placed.len() as u64),
        "{sites}"
    );
    assert!(
        line["cost_ns"].as_i64() >= Some(30_000_000 * placed.len() as i64),
        "{sites}"
    );
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn packets_tell_the_same_stalls() {
    let Some(watch) = watch(&["-i", "lo", "--once", "5s", "--json"]) else {
        return;
    };
    let words = conversation(12, "nagle");
    let talk = Command::new(&words[0]).args(&words[1..]).output();
    let talk = talk.expect("python3 starts");
    assert!(talk.status.success());
    // Other tests hold similar conversations.
    let server = format!("127.0.0.1:{}", String::from_utf8_lossy(&talk.stdout).trim());
    let said = printed(watch);
    let lines = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let stalls: Vec<Value> = lines
        .filter(|line: &Value| line["event"] == "stall")
        // Both ends are on this host; the end is shown whose process was found first.
        .filter(|line| [&line["local"], &line["remote"]].contains(&&Value::from(server.as_str())))
        .collect();
    are_the_servers(stalls.iter(), &said);
}

/// The client has the lower port, and nobody sees the handshake: only who listens tells the sides.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn packets_of_a_connection_that_stood_before_tell_the_side() {
    let talk = Command::new("python3")
        .args(["-c", STOOD_BEFORE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut talk = Running(talk.expect("python3 starts"));
    let mut port = String::new();
    BufReader::new(talk.0.stdout.as_mut().expect("a pipe"))
        .read_line(&mut port)
        .expect("a line");
    let server = format!("127.0.0.1:{}", port.trim());
    let Some(watch) = watch(&["-i", "lo", "--once", "5s", "--json"]) else {
        return;
    };
    drop(talk.0.stdin.take());
    assert!(talk.0.wait().expect("it ends").success());
    let said = printed(watch);
    let senders: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|line| line["event"] == "stall")
        .filter(|line| [&line["local"], &line["remote"]].contains(&&Value::from(server.as_str())))
        .map(|line| line["sender"].clone())
        .collect();
    assert!(senders.len() >= 10, "{said}");
    assert!(senders.iter().all(|sender| sender == "server"), "{said}");
}

/// A conversation without a stall: 20 requests, and two writes for each answer.
fn talk_well() {
    let words = conversation(20, "nodelay");
    let talk = Command::new(&words[0]).args(&words[1..]).output();
    assert!(talk.expect("python3 starts").status.success());
}

/// Ends a watch; returns the exit code, and what was printed.
fn ended(mut watch: Running) -> (Option<i32>, String, String) {
    // What the kernel said last is read.
    std::thread::sleep(std::time::Duration::from_millis(500));
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(watch.0.id() as libc::pid_t, libc::SIGINT) };
    let (mut out, mut said) = (String::new(), String::new());
    let stdout = watch.0.stdout.as_mut().expect("a pipe");
    stdout.read_to_string(&mut out).expect("text");
    let stderr = watch.0.stderr.as_mut().expect("a pipe");
    stderr.read_to_string(&mut said).expect("text");
    (watch.0.wait().expect("it ends").code(), out, said)
}

#[test]
fn a_name_that_matches_nothing_is_no_all_clear() {
    let Some(misspelt) = watch(&["pyhton3"]) else {
        return;
    };
    let one_of_two = watch(&["python3", "nosuch", "--json"]).expect("the same");
    talk_well();
    let (code, out, said) = ended(misspelt);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{said}");
    assert!(
        said.contains("nothing matched pyhton3") && said.contains("python3 was seen"),
        "{said}"
    );
    let (code, out, _) = ended(one_of_two);
    let summary: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(code, Some(1), "{summary}");
    assert_eq!(summary["nothing_matched"], serde_json::json!(["nosuch"]));
    assert!(summary["seen"]["writes"].as_u64() >= Some(60), "{summary}");
}

#[test]
fn a_clean_bill_says_how_much_was_seen() {
    // A port that is free again.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let script = CONVERSATION.replace("(\"127.0.0.1\", 0)", &format!("(\"127.0.0.1\", {port})"));
    let port_typed = port.to_string();
    let arguments = [port_typed.as_str()];
    let Some(text) = watch(&arguments) else {
        return;
    };
    let all = watch(&["--json"]).expect("the same");
    let talk = Command::new("python3")
        .args(["-c", &script, "20", "nodelay"])
        .output();
    assert!(talk.expect("python3 starts").status.success());
    let (code, out, said) = ended(text);
    assert_eq!(code, Some(0), "{said}");
    // One request and two writes of an answer, twenty times, and both ends are here.
    assert!(out.contains(": 2 connections, 60 writes, "), "{out}");
    let (_, out, _) = ended(all);
    let summary: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
    let seen = |what: &str| summary["seen"][what].as_u64().expect("a number");
    // Other tests talk, too.
    assert!(
        seen("connections") >= 2 && seen("writes") >= 60 && seen("segments") >= 60,
        "{summary}"
    );
}

/// One process serves two ports, one after the other; one is asked for. Who listens is looked up at most every so often,
/// and a port that began to listen since may be taken for a client's.
#[test]
fn a_process_that_also_stalls_on_other_ports_is_said_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = |at: usize| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        (at, free.local_addr().expect("an address").port())
    };
    let ports = [port(0).1, port(1).1];
    let script = folder.path().join("two.py");
    let text = format!(
        "import sys, threading, time\nsource = {CONVERSATION:?}\n\
         def run(port): exec(source.replace('(\\\"127.0.0.1\\\", 0)', '(\\\"127.0.0.1\\\", %d)' % port), {{}})\n\
         threads = [threading.Thread(target=run, args=(port,)) for port in ({}, {})]\n\
         [(thread.start(), thread.join()) for thread in threads]\n",
        ports[0], ports[1]
    );
    std::fs::write(&script, text).expect("a file");
    let Some(watch) = watch(&[&ports[0].to_string(), "--json"]) else {
        return;
    };
    let talk = Command::new("python3")
        .arg(&script)
        .args(["12", "nagle"])
        .output();
    let talk = talk.expect("python3 starts");
    assert!(
        talk.status.success(),
        "{}",
        String::from_utf8_lossy(&talk.stderr)
    );
    let (_, out, _) = ended(watch);
    let summary: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
    let elsewhere = summary["elsewhere"].as_array().expect("a list");
    assert!(
        elsewhere.len() == 1
            && elsewhere[0]["port"] == ports[1]
            && elsewhere[0]["count"].as_u64() >= Some(8),
        "{summary}"
    );
}

#[test]
fn what_cannot_be_watched_is_one_line() {
    for (arguments, accepted) in [
        (&["-i", "nosuch0"][..], "no network interface nosuch0"),
        (&["--source", "kernel", "-i", "lo"], "--source packets"),
        (&["--source", "wire"], "kernel, packets"),
        (&["--once", "0s"], "24h"),
        (&["/no/such/group"], "/no/such/group"),
    ] {
        let output = tinygram(&["watch"]).args(arguments).output();
        let output = output.expect("tinygram starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains(accepted) && said.lines().count() == 1,
            "{arguments:?}: {said}"
        );
    }
}

/// As `watch --json | head -1` does it.
#[test]
fn the_lines_are_written_if_the_reader_goes_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sites.json");
    let arguments = ["--json", "--sites", file.to_str().expect("UTF-8")];
    let Some(mut watch) = watch(&arguments) else {
        return;
    };
    let mut talk = Running(
        crate::stalling::asks_in_two_writes()
            .spawn()
            .expect("python3 starts"),
    );
    let mut stdout = BufReader::new(watch.0.stdout.take().expect("a pipe"));
    stdout.read_line(&mut String::new()).expect("a finding");
    drop(stdout);
    // The next finding meets a closed pipe.
    assert!(watch.0.wait().expect("it ends").success());
    assert_eq!(talk.0.try_wait().expect("a state"), None);
    let sites = std::fs::read_to_string(&file).expect("it is written");
    let sites: Value = serde_json::from_str(&sites).expect("JSON");
    assert_eq!(sites["schema"], "tinygram.sites/1");
    // On a busy host a finding may have come without its line, and is counted without one.
    let lines = sites["sites"].as_array().expect("a list");
    let of_lines = lines.iter().filter_map(|site| site["count"].as_u64());
    let without = sites["without_site"].as_u64().expect("a count");
    assert_ne!(of_lines.sum::<u64>() + without, 0, "{sites}");
}

#[test]
fn guard_fails_a_command_that_stalls_and_passes_one_that_does_not() {
    let stalls = guard(&[], &conversation(6, "nagle"));
    if cannot(&stalls) {
        return;
    }
    let said = String::from_utf8_lossy(&stalls.stderr);
    assert_eq!(stalls.status.code(), Some(1), "{said}");
    assert!(said.contains("200 bytes held"), "{said}");
    for _ in 0..3 {
        let clean = guard(&[], &conversation(6, "nodelay"));
        let said = String::from_utf8_lossy(&clean.stderr);
        assert_eq!(clean.status.code(), Some(0), "{said}");
        assert!(said.contains("0 connection stalls"), "{said}");
    }
    let accepted = guard(&["--max-holds", "6", "--github"], &conversation(6, "nagle"));
    assert_eq!(accepted.status.code(), Some(0));
    let said = String::from_utf8_lossy(&accepted.stderr);
    assert!(said.contains("connection stalls, accepted."), "{said}");
    // Both ends are on this host, and the program is the reader's own.
    assert!(!said.contains("Windows"), "{said}");
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("{text}: {said}"));
    assert!(at("write it once") < at("set TCP_NODELAY"));
    let notes = String::from_utf8_lossy(&accepted.stdout);
    assert!(notes.contains("::warning ") && !notes.contains("::error "));
}

#[test]
fn guard_ends_as_the_command_does_and_writes_reports() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("guard.xml");
    let path = report.to_str().expect("a name");
    let stalls = guard(&["--junit", path, "--github"], &conversation(4, "nagle"));
    if cannot(&stalls) {
        return;
    }
    let xml = std::fs::read_to_string(&report).expect("a report");
    assert!(
        xml.contains("<failure message=") && xml.ends_with("</testsuites>\n"),
        "{xml}"
    );
    assert!(String::from_utf8_lossy(&stalls.stdout).contains("::error "));
    let failed = guard(&[], &["sh", "-c", "exit 7"].map(str::to_owned));
    assert_eq!(failed.status.code(), Some(7));
    let missing = guard(&[], &["/no/such/program".to_owned()]);
    assert_eq!(missing.status.code(), Some(2));
}

/// Asserts that of twelve answers all but the first were held, or two more, and that the server held them.
fn are_the_servers<'a>(stalls: impl ExactSizeIterator<Item = &'a Value>, said: &str) {
    assert!((10..=12).contains(&stalls.len()), "{said}");
    for stall in stalls {
        assert_eq!(stall["kind"], "write-write-read");
        assert_eq!(stall["sender"], "server");
        assert_eq!(
            (&stall["held_bytes"], &stall["in_flight_bytes"]),
            (&200.into(), &100.into())
        );
    }
}
