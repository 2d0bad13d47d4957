//! `tinygram link` and `naglemark --backend kernel` on real devices, in their own namespaces. If
//! the machine allows none, the tests say so and are skipped, but never in CI.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const TINYGRAM: &str = env!("CARGO_BIN_EXE_tinygram");

fn tinygram(arguments: &[&str]) -> Output {
    Command::new(TINYGRAM).args(arguments).output().unwrap()
}

/// Returns whether links can be made here; if not, prints why.
fn possible() -> bool {
    let output = tinygram(&["link", "--", "true"]);
    let possible = output.status.success();
    if !possible {
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(
            std::env::var_os("CI").is_none(),
            "in CI nothing is skipped: {why}"
        );
        eprintln!("skipped: {}", why.trim());
    }
    possible
}

/// Runs `script` at the first end and returns the statistics.
fn over_a_link(rules: &[&str], script: &str) -> Value {
    program_over_a_link(rules, &["python3", "-c", script])
}

/// Runs a program at the first end and returns the statistics.
fn program_over_a_link(rules: &[&str], program: &[&str]) -> Value {
    let mut arguments = vec!["link", "--json"];
    arguments.extend(rules);
    arguments.push("--");
    arguments.extend(program);
    let output = tinygram(&arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    serde_json::from_str(&stderr).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("-c").arg("").status().is_ok();
    if !found {
        eprintln!("skipped: there is no python3 to talk over the link");
    }
    found
}

/// Sends numbered datagrams to the peer's end of the link, where nobody has to listen.
const DATAGRAMS: &str = "
import errno, os, socket, time
family, peer = (socket.AF_INET6, os.environ['TINYGRAM_PEER6']) if os.environ.get('SIX') else \
    (socket.AF_INET, os.environ['TINYGRAM_PEER'])
s = socket.socket(family, socket.SOCK_DGRAM)
for n in range(400):
    s.sendto(bytes(72), (peer, 9))
    if n % 20 == 19: time.sleep(0.001)
# Refused, and so behind the last datagram: the link has read them all.
last = socket.socket(family, socket.SOCK_STREAM)
assert last.connect_ex((peer, 9)) == errno.ECONNREFUSED
";

#[test]
fn what_is_asked_for_befalls_the_packets() {
    if !possible() || !has_python() {
        return;
    }
    let rules = [
        "--loss",
        "20%",
        "--duplicate",
        "10%",
        "--reorder",
        "10%",
        "--seed",
        "7",
    ];
    let (one, other) = (
        over_a_link(&rules, DATAGRAMS),
        over_a_link(&rules, DATAGRAMS),
    );
    let way = |document: &Value, field: &str| document["there"][field].as_u64().unwrap();
    assert_eq!(one["schema"], "tinygram.link/1");
    assert!(way(&one, "packets") >= 400, "{one}");
    let packets = way(&one, "packets") as f64;
    // Four standard deviations of 400 draws; the seed is fixed.
    for (field, share) in [("lost", 0.2), ("doubled", 0.08), ("held_back", 0.08)] {
        let count = way(&one, field) as f64;
        let spread = 4.0 * (packets * share * (1.0 - share)).sqrt();
        assert!((count - packets * share).abs() < spread, "{field}: {one}");
    }
    // The number of the kernel's own neighbour and multicast packets may differ; the random draws
    // do not.
    if way(&one, "packets") == way(&other, "packets") {
        assert_eq!(way(&one, "lost"), way(&other, "lost"));
    }
    let delivered = way(&one, "packets") + way(&one, "doubled") - way(&one, "lost");
    assert_eq!(way(&one, "delivered_packets"), delivered);
}

#[test]
fn a_round_trip_takes_twice_the_delay() {
    if possible() {
        let itself = std::env::current_exe().expect("this program");
        let itself = itself.to_str().expect("a path in UTF-8");
        let test = [itself, "--exact", ROUND_TRIPS, "--nocapture"];
        program_over_a_link(&["--delay", "10ms"], &test);
    }
}

/// This program's own test, run as the program over the link.
const ROUND_TRIPS: &str = "a_refusal_takes_twenty_milliseconds_over_that_link";

/// The peer's kernel refuses a connection after a round trip. Except over the link of
/// `a_round_trip_takes_twice_the_delay` there is no peer, and the test does nothing.
#[test]
#[allow(
    clippy::disallowed_methods,
    reason = "it is real time that is measured"
)]
fn a_refusal_takes_twenty_milliseconds_over_that_link() {
    let Ok(peer) = std::env::var("TINYGRAM_PEER") else {
        return;
    };
    let round_trip = || {
        let began = std::time::Instant::now();
        let refused = std::net::TcpStream::connect((peer.as_str(), 9));
        let kind = refused.expect_err("nobody listens").kind();
        assert_eq!(kind, std::io::ErrorKind::ConnectionRefused);
        began.elapsed()
    };
    let least = (0..20).map(|_| round_trip()).min().expect("twenty of them");
    let millis = least.as_secs_f64() * 1e3;
    assert!((20.0..25.0).contains(&millis), "{millis} ms");
}

/// Without a greeting, any server that sends octets would be measured, because a benchmark answer
/// has no header.
#[test]
fn who_is_no_server_of_ours_is_not_measured() {
    for (says, told) in [
        (
            &b"HTTP/1.0 400 Bad Request\r\n\r\n"[..],
            "answers something else",
        ),
        (b"", "hangs up"),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 100]).unwrap();
            stream.write_all(says).unwrap();
        });
        let output = tinygram(&[
            "naglemark",
            "--backend=kernel",
            "--connect",
            &at,
            "--lengths=300",
        ]);
        server.join().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains(told) && stderr.lines().count() == 1,
            "{stderr}"
        );
        assert!(output.stdout.is_empty());
    }
}

/// The link ends when its command ends, with the command's exit code.
#[test]
fn the_command_s_exit_code_is_the_link_s() {
    if possible() {
        let output = tinygram(&["link", "--", "sh", "-c", "exit 7"]);
        assert_eq!(output.status.code(), Some(7));
    }
}

/// Nobody reads what the link carried, and nothing breaks.
#[test]
fn closed_standard_error_leaves_the_command_s_exit_code() {
    if possible() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut link = Command::new(TINYGRAM);
        link.args(["link", "--", "sh", "-c", "exit 7"]);
        let status = link.stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(7));
    }
}

#[test]
fn an_interrupt_ends_the_link_and_leaves_nothing() {
    if !possible() {
        return;
    }
    let mut link = Command::new(TINYGRAM)
        .args(["link", "--delay", "1ms"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(link.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let at = first
        .rsplit_once("--net=")
        .expect("how to get there")
        .1
        .to_owned();
    assert!(
        first.contains("10.77.0.1") && first.contains("fd77::1"),
        "{first}"
    );
    assert!(fs::metadata(&at).is_ok(), "{at}");
    let pid = link.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert!(link.wait().unwrap().success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(
        rest.iter().any(|line| line.starts_with("there: ")),
        "{rest:?}"
    );
    assert!(fs::metadata(&at).is_err(), "{at} is still there");
}

#[test]
fn a_veth_pair_joins_without_emulation() {
    if !possible() || !has_python() {
        return;
    }
    let script = "
import os, socket
# Nobody listens there: the peer refuses, so packets come and go.
assert socket.socket().connect_ex((os.environ['TINYGRAM_PEER'], 9)) == 111
print(open('/proc/net/dev').read())
";
    let output = tinygram(&["link", "--veth", "--", "python3", "-c", script]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let devices = String::from_utf8_lossy(&output.stdout);
    assert!(devices.contains("link0:"), "{devices}");
    // Nothing is counted.
    assert_eq!(stderr, "");
    let refused = tinygram(&["link", "--veth", "--rate", "1Gbit"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// The short version of the comparison in book/src/build/backends.md. On a link with a rate, reader and writer
/// do not race, so the simulator can be compared with the kernel. A machine that withholds the
/// processor for 30 ms causes stalls that follow from no rule. This must not hit the same request
/// in two of three repetitions, and the test gets a second chance.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn simulation_meets_reality() {
    if possible() {
        let agree = (0..2).any(|_| differing_cells().is_empty());
        assert!(agree, "they differ in both of two runs");
    }
}

/// Returns the cells in which simulator and kernel differ by more than the goals: 1 % of the
/// lengths (of sixty, none), 2 % of the segments.
fn differing_cells() -> Vec<Value> {
    let output = tinygram(&[
        "naglemark",
        "--backend=sim,kernel",
        "--hosts=linux-veth",
        "--link=emulated",
        "--rate=20Mbit",
        "--rtt=4ms",
        "--receive-buffer=64K",
        "--trial=S",
        "--app-buffer=1000",
        "--lengths=100..6000/100",
        "--repetitions=3",
        "--format=json",
    ]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = document["parameters"]["agreement"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    // A comparison in which nothing stalled would show nothing.
    let delayed = &cells[0]["delayed"];
    assert!(delayed[0].as_u64().unwrap() >= 5, "{}", cells[0]);
    let differs = |cell: &&Value| {
        let agreement = cell["agreement_percent"].as_f64().unwrap();
        let ratio = cell["segments_ratio"].as_f64().unwrap();
        agreement < 99.0 || (ratio - 1.0).abs() > 0.02
    };
    let differing: Vec<_> = cells.iter().filter(differs).cloned().collect();
    for cell in &differing {
        eprintln!("{cell}");
    }
    differing
}
