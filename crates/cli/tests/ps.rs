//! `tinygram ps` on connections of this process: it shows what was set.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn ps(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .arg("ps")
        .args(arguments)
        .output()
        .unwrap()
}

/// A connection with both ends in this process, and its client's port.
fn connection() -> (TcpStream, TcpStream, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    let port = client.local_addr().unwrap().port().to_string();
    (client, server, port)
}

/// Returns the client's end as `ps` shows it; `None` if this process may not be inspected.
fn shown(port: &str) -> Option<Value> {
    let output = ps(&["--json", port]);
    assert!(output.status.success());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "tinygram.ps/1");
    let local = format!("127.0.0.1:{port}");
    let found = document["connections"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["local"] == *local)
        .cloned();
    let found = found.expect("the connection is listed");
    if found["options"].is_null() {
        eprintln!("skipped: this user may not copy descriptors of its own processes");
        return None;
    }
    assert_eq!(found["owners"][0]["pid"], std::process::id());
    Some(found)
}

#[test]
fn options_are_those_that_were_set() {
    let (client, _server, port) = connection();
    let Some(before) = shown(&port) else { return };
    assert_eq!(
        (&before["options"]["nodelay"], &before["options"]["cork"]),
        (&false.into(), &false.into())
    );
    client.set_nodelay(true).unwrap();
    cork(&client);
    let after = shown(&port).unwrap();
    assert_eq!(
        (&after["options"]["nodelay"], &after["options"]["cork"]),
        (&true.into(), &true.into())
    );
}

#[test]
fn bytes_per_segment_are_counted_and_a_corked_runt_is_named() {
    let (mut client, mut server, port) = connection();
    for _ in 0..10 {
        client.write_all(&[7; 100]).unwrap();
        server.read_exact(&mut [0; 100]).unwrap();
    }
    let Some(quiet) = shown(&port) else { return };
    assert_eq!(quiet["counts"]["data_segments_sent"], 10);
    assert_eq!(quiet["counts"]["bytes_per_segment"], 100.0);
    assert_eq!(quiet["verdict"], Value::Null);
    // The kernel releases a corked runt after 200 ms; a loaded machine may need that long to start
    // `ps`.
    cork(&client);
    let corked = (0..20).find_map(|_| {
        client.write_all(&[7; 100]).unwrap();
        shown(&port).filter(|seen| !seen["verdict"].is_null())
    });
    let corked = corked.expect("a corked runt is named");
    assert_eq!(corked["verdict"]["kind"], "corked-now");
    assert_eq!(corked["verdict"]["bytes"].as_u64().unwrap() % 100, 0);
}

#[test]
fn text_names_the_process_and_a_target_that_is_not_there() {
    let (_client, _server, port) = connection();
    let text = String::from_utf8(ps(&[&port]).stdout).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().contains("NAGLE"));
    assert!(lines.all(|line| line.contains(&format!(":{port}"))));
    let missing = ps(&["no-such-process"]);
    assert_eq!(missing.status.code(), Some(1), "as grep says it");
    assert!(missing.stdout.is_empty());
    assert!(String::from_utf8_lossy(&missing.stderr).contains(
        "no TCP connection of a process, script, unit or container named no-such-process"
    ));
}

#[test]
fn watch_takes_its_seconds_as_a_word_of_their_own() {
    let (_client, _server, port) = connection();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["ps", "--json", "--watch", "0.1", &port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let lines = BufRead::lines(out).take(2).map(Result::unwrap);
    for line in lines.collect::<Vec<_>>() {
        let document: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(document["target"], *port);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// It asks between pages whether to stop: the next page would be due in an hour.
#[test]
fn ctrl_c_ends_a_watch_in_order_and_at_once() {
    let (_client, _server, port) = connection();
    for (target, code) in [(port.as_str(), 0), ("no-such-program", 1)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(["ps", "--json", "--watch", "3600", target])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut pages = BufReader::new(child.stdout.take().unwrap());
        let mut page = String::new();
        pages.read_line(&mut page).unwrap();
        assert!(page.contains("tinygram.ps/1"), "{page}");
        #[expect(clippy::disallowed_methods, reason = "how soon it ends is real time")]
        let asked = Instant::now();
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
        let status = child.wait().unwrap();
        let took = asked.elapsed();
        assert_eq!(status.code(), Some(code), "{status:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_eq!(pages.read_line(&mut page).unwrap(), 0);
    }
}

#[test]
fn a_summary_has_a_line_for_each_process() {
    let (_client, _server, port) = connection();
    let text = String::from_utf8(ps(&["--summary", &port]).stdout).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().contains("TROUBLE"));
    assert_eq!(lines.count(), 1, "{text}");
    let document = ps(&["--summary", "--json", &port]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    let [process] = &document["processes"].as_array().unwrap()[..] else {
        panic!("{document:#}")
    };
    // Both ends are of one process.
    assert_eq!(process["connections"], 2, "{document:#}");
    let none = ps(&["--trouble", &port]);
    assert!(none.status.success() && none.stdout.is_empty());
    assert!(String::from_utf8_lossy(&none.stderr).contains("no connection looks like trouble"));
}

/// Two connections, one of which has sent more, in the requested order and number.
#[test]
fn what_comes_first_is_what_was_asked_for() {
    let (mut quiet, _quiet_server, quiet_port) = connection();
    let (mut busy, mut busy_server, busy_port) = connection();
    quiet.write_all(&[7; 1000]).unwrap();
    for _ in 0..5 {
        busy.write_all(&[7; 10]).unwrap();
        busy_server.read_exact(&mut [0; 10]).unwrap();
    }
    let me = std::process::id().to_string();
    let order = |key: &str| {
        let shown = ps(&["--json", "--sort", key, &me]);
        let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
        let connections = document["connections"].as_array().unwrap().clone();
        let place = |port: &str| {
            let local = format!("127.0.0.1:{port}");
            let place = connections.iter().position(|c| c["local"] == *local);
            place.expect("it is listed")
        };
        place(&busy_port) < place(&quiet_port)
    };
    if shown(&busy_port).is_none() {
        return;
    }
    assert!(
        order("segments") && order("small"),
        "most segments, smallest"
    );
    assert!(!order("bytes"), "most bytes");
    let first = ps(&["--sort", "segments", "--top", "1", &me]);
    assert_eq!(String::from_utf8_lossy(&first.stdout).lines().count(), 2);
}

/// A missing target is reported differently from a target without signs of trouble.
#[test]
fn a_target_that_is_not_there_is_named_whatever_is_asked_of_it() {
    let missing = ps(&["--trouble", "no-such-process"]);
    assert_eq!(missing.status.code(), Some(1));
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(
        said.contains(
            "no TCP connection of a process, script, unit or container named no-such-process"
        ),
        "{said}"
    );
}

#[test]
fn bad_arguments_are_one_line() {
    for arguments in [
        &["0"][..],
        &["99999999"],
        &["--watch=0"],
        &["--watch", "x", "80"],
        &["--watch", "4000", "80"],
        &[""],
    ] {
        let output = ps(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            output.stdout.is_empty() && said.lines().count() == 1 && said.contains("accepted"),
            "{said}"
        );
    }
}

fn cork(stream: &TcpStream) {
    let on: libc::c_int = 1;
    // SAFETY: one integer, on a socket of our own.
    let failed = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CORK,
            (&raw const on).cast(),
            4,
        )
    };
    assert_eq!(failed, 0);
}

#[test]
fn nothing_in_trouble_says_how_much_was_looked_at_and_json_is_one_line() {
    let (mut client, mut server, port) = connection();
    client.write_all(&[7; 100]).unwrap();
    server.read_exact(&mut [0; 100]).unwrap();
    let clean = ps(&[&port, "--trouble"]);
    let said = String::from_utf8(clean.stderr).unwrap();
    assert!(
        said.contains("no connection looks like trouble: 2 connections, 2 segments"),
        "{said}"
    );
    for summary in [&["--json", &port][..], &["--json", "--summary", &port]] {
        let text = String::from_utf8(ps(summary).stdout).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["seen"]["connections"], 2);
    }
}

/// A target means the same as in `watch` and `set`: a script is one, too.
#[test]
fn a_script_is_a_target() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("two-ends.py");
    let text = "import socket\nlistener = socket.create_server(('127.0.0.1', 0))\n\
                client = socket.create_connection(listener.getsockname())\n\
                end, _ = listener.accept()\nprint('there', flush=True)\nclient.recv(1)\n";
    std::fs::write(&script, text).unwrap();
    let mut python = Command::new("python3");
    let mut python = python.arg(&script).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let said = python.stdout.take().unwrap();
    BufRead::read_line(&mut BufReader::new(said), &mut line).unwrap();
    let output = ps(&["two-ends.py"]);
    let json = ps(&["two-ends.py", "--json"]);
    python.kill().unwrap();
    python.wait().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(shown.matches("python3 two-ends.py").count(), 2, "{shown}");
    let document: Value = serde_json::from_slice(&json.stdout).unwrap();
    let owner = &document["connections"][0]["owners"][0];
    assert_eq!(owner["script"], "two-ends.py", "{document:#}");
}

/// Whoever may start a process chooses its name, and root reads it.
#[test]
fn a_process_cannot_act_on_a_terminal_by_its_name() {
    let text = "import ctypes, socket\nlistener = socket.create_server(('127.0.0.1', 0))\n\
                client = socket.create_connection(listener.getsockname())\n\
                end, _ = listener.accept()\n\
                ctypes.CDLL(None).prctl(15, b'sys\\x1b[31m: \\ncall', 0, 0, 0)\n\
                print(client.getsockname()[1], flush=True)\nclient.recv(1)\n";
    let mut python = Command::new("python3");
    let mut python = python
        .args(["-c", text])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let said = python.stdout.take().unwrap();
    BufRead::read_line(&mut BufReader::new(said), &mut port).unwrap();
    let outputs = [
        ps(&[port.trim()]),
        ps(&[port.trim(), "--summary"]),
        ps(&[port.trim(), "--json"]),
    ];
    python.kill().unwrap();
    python.wait().unwrap();
    let [text, summary, json] = outputs.map(|output| String::from_utf8(output.stdout).unwrap());
    for shown in [&text, &summary] {
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        assert!(shown.contains("sys\u{fffd}[31m: \u{fffd}call"), "{shown:?}");
    }
    // Each end has a line beneath the headings.
    assert_eq!((text.lines().count(), summary.lines().count()), (3, 2));
    assert!(!json.contains("u001b"), "{json}");
}

#[test]
fn a_container_that_sees_no_process_of_the_host_is_told_why() {
    let (_client, _server, port) = connection();
    let inside = |script: &str| {
        Command::new("unshare")
            .args([
                "--pid",
                "--fork",
                "--mount",
                "--mount-proc",
                "sh",
                "-c",
                script,
                "sh",
            ])
            .args([env!("CARGO_BIN_EXE_tinygram"), &port])
            .output()
            .unwrap()
    };
    let output = inside("exec \"$1\" ps \"$2\"");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unshare") {
        assert!(std::env::var_os("CI").is_none(), "{said}");
        eprintln!("skipped: it takes root to make a PID namespace: {said}");
        return;
    }
    assert!(
        said.contains("2 connections have no process") && said.contains("hostPID: true"),
        "{said}"
    );
    let output = inside("while umount -l /proc 2> /dev/null; do :; done; exec \"$1\" ps \"$2\"");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("there is no /proc here"), "{said}");
}

#[test]
fn root_without_capabilities_is_told_which_it_lacks() {
    let mut command = Command::new("setpriv");
    let command = command.args([
        "--bounding-set=-all",
        "--inh-caps=-all",
        env!("CARGO_BIN_EXE_tinygram"),
    ]);
    let output = command.args(["watch", "--once", "1s"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("setpriv") || said.contains("it takes root") {
        assert!(std::env::var_os("CI").is_none(), "{said}");
        eprintln!("skipped: it takes root to lay capabilities down: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("lacks CAP_BPF and CAP_PERFMON; not permitted to read packets"),
        "{said}"
    );
    assert!(said.contains("lacks CAP_NET_RAW"), "{said}");
}
