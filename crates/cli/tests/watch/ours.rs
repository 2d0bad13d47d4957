//! What tinygram itself does to a program is said beside what is found of it: a change of `set`, or `run`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::watching::{self, Running};

/// A client that asks in forty writes and reads one answer, until it is ended; it prints its server's port.
const FLOODS: &str = r#"
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve():
    end, _ = listener.accept()
    while end.recv(400, socket.MSG_WAITALL):
        end.sendall(b"!")
threading.Thread(target=serve, daemon=True).start()
end = socket.create_connection(listener.getsockname())
while True:
    for _ in range(40):
        end.send(b"x" * 10)
    end.recv(1)
    time.sleep(0.002)
"#;

/// Starts it, perhaps under `tinygram run`; returns it with its port.
fn start(under: &[&str]) -> (Running, String) {
    let mut command = match under {
        [] => Command::new("python3"),
        words => {
            let mut run = Command::new(env!("CARGO_BIN_EXE_tinygram"));
            run.args(words).arg("python3");
            run
        }
    };
    let child = command
        .args(["-u", "-c", FLOODS])
        .stdout(Stdio::piped())
        .spawn();
    let mut child: Child = child.expect("it starts");
    let mut port = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe"))
        .read_line(&mut port)
        .expect("a port");
    (Running(child), port.trim().to_owned())
}

/// Returns the lines of a watch of two seconds; none where this machine cannot watch.
fn watched(words: &[&str]) -> Option<Vec<Value>> {
    let words: Vec<_> = ["--once", "2s", "--json"]
        .iter()
        .chain(words)
        .copied()
        .collect();
    let mut watch = watching::watch(&words, Stdio::piped())?;
    let mut said = String::new();
    let stdout = watch.0.stdout.as_mut().expect("a pipe");
    stdout.read_to_string(&mut said).expect("text");
    let lines = said
        .lines()
        .map(|line| serde_json::from_str(line).expect(line));
    Some(lines.collect())
}

#[test]
fn a_flood_on_a_socket_that_we_have_changed_names_the_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("state");
    let journal = journal.to_str().expect("UTF-8");
    let (_program, port) = start(&[]);
    let set = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command.arg("set").args(words).args(["--journal", journal]);
        command.output().expect("it starts")
    };
    let done = set(&[&port, "nodelay=on"]);
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(std::env::var_os("CI").is_none(), "{why}");
        println!("skipped: {why}");
        return;
    }
    let lines = watched(&[&port, "--journal", journal]);
    set(&["--undo"]);
    let Some(lines) = lines else { return };
    let floods: Vec<_> = lines
        .iter()
        .filter(|line| line["event"] == "flood")
        .collect();
    let of_the_client = floods.iter().find(|flood| flood["side"] == "client");
    let flood = of_the_client.unwrap_or_else(|| panic!("{lines:#?}"));
    let changes = flood["changes"].as_array().expect("a list");
    assert_eq!(changes.len(), 1, "{flood:#}");
    assert_eq!(changes[0]["change"], 1, "{flood:#}");
    assert_eq!(changes[0]["option"], "nodelay", "{flood:#}");
    assert_eq!(changes[0]["before"], "off", "{flood:#}");
    let command = changes[0]["command"].as_str().expect("a command");
    let set = format!("tinygram set {port} nodelay=on");
    assert!(command.starts_with(&set), "{flood:#}");
}

/// Nothing is found of it, and why nothing is found is said.
#[test]
fn a_program_under_run_is_said_to_be() {
    let (program, port) = start(&["run", "--eager", "--"]);
    let Some(lines) = watched(&[&port]) else {
        return;
    };
    let summary = lines.last().expect("a summary");
    let under_run = summary["under_run"].as_array().expect("a list");
    assert_eq!(under_run.len(), 1, "{summary:#}");
    assert_eq!(under_run[0]["policy"], "flush-on-block", "{summary:#}");
    assert!(
        under_run[0]["process"]
            .as_str()
            .is_some_and(|name| name.starts_with("python")),
        "{summary:#}"
    );
    let mut watch = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let output = watch.args(["watch", "--once", "1s", &port]).output();
    let said = String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned();
    assert!(
        said.contains("Under tinygram run already, which gathers small writes: python"),
        "{said}"
    );
    drop(program);
    let (_program, port) = start(&[]);
    let lines = watched(&[&port]).expect("as before");
    assert_eq!(
        lines.last().expect("a summary")["under_run"],
        serde_json::json!([])
    );
}
