//! `guard` with both of its sources, on several kinds of programs: the kernel and the preloaded
//! library must report the same stalls. The library needs no privileges.

mod recorded;

use std::process::{Command, Output};

/// Eight connections in one thread, each answered in two writes; both ends in one process.
const EVENT_LOOP: &str = r#"
import asyncio, socket, sys
async def main():
    async def answer(reader, writer):
        end = writer.get_extra_info("socket")
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, sys.argv[1] == "nodelay")
        try:
            while True:
                await reader.readexactly(100)
                writer.write(b"a" * 100)
                await asyncio.sleep(0)
                writer.write(b"b" * 200) # it waits here
        except asyncio.IncompleteReadError:
            writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async def ask():
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for _ in range(10):
            writer.write(b"x" * 100)
            await reader.readexactly(300)
        writer.close()
    await asyncio.gather(*[ask() for _ in range(8)])
asyncio.run(main())
"#;

/// A server that waits until a whole request of 300 octets is there, in one of two ways.
const WAITS_FOR_MORE: &str = r#"
import select, socket, sys, threading
how = sys.argv[1]
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    if how == "lowat":
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 300)
    while True:
        if how == "lowat":
            waits = select.poll()
            waits.register(end, select.POLLIN)
            waits.poll()
        else:
            end.recv(300, socket.MSG_PEEK | socket.MSG_WAITALL)
        if not end.recv(300, socket.MSG_WAITALL):
            return
        end.sendall(b"y" * 50)
threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(listener.getsockname())
for _ in range(10):
    client.sendall(b"h" * 100)
    client.sendall(b"b" * 200) # it waits here
    length = 50
    while length:
        length -= len(client.recv(length))
"#;

/// A client that writes twice and reads; the server's timer of delayed acknowledgments is as long as it says.
const SHORT_TIMER: &str = r#"
import socket, sys, threading
TCP_DELACK_MAX_US = 46 # Linux 6.15
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    try:
        end.setsockopt(socket.IPPROTO_TCP, TCP_DELACK_MAX_US, int(sys.argv[1]))
    except OSError:
        print("no such option", flush=True)
    while True:
        got = b""
        while len(got) < 200:
            more = end.recv(200)
            if not more:
                return
            got += more
        end.sendall(b"y" * 50)
threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(listener.getsockname())
for _ in range(10):
    client.sendall(b"h" * 100)
    client.sendall(b"b" * 100)
    client.recv(50)
"#;

/// Asks and is answered, now and then. The answer carries the acknowledgment, and the kernel's timer for it expires
/// later for nothing.
const NOW_AND_THEN: &str = r#"
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    while end.recv(100):
        end.sendall(b"y" * 50)
threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(listener.getsockname())
print(listener.getsockname()[1], flush=True)
for _ in range(20):
    client.sendall(b"h" * 100)
    client.recv(50)
    time.sleep(0.06)
"#;

/// One thread writes and waits on a semaphore; another reads all the time.
const DUPLEX: &str = r#"
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
def read(end, length):
    while length:
        got = end.recv(length)
        if not got:
            return False
        length -= len(got)
    return True
def serve():
    end, _ = listener.accept()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while read(end, 200):
        end.sendall(b"y" * 50)
server = threading.Thread(target=serve)
server.start()
client = socket.create_connection(listener.getsockname())
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, sys.argv[1] == "nodelay")
got = threading.Semaphore(0)
def hear():
    while read(client, 50):
        got.release()
hearer = threading.Thread(target=hear)
hearer.start()
for _ in range(10):
    client.sendall(b"h" * 100)
    client.sendall(b"b" * 100)
    got.acquire()
client.shutdown(socket.SHUT_WR)
hearer.join()
server.join()
"#;

/// Writes at fixed times and does not wait: Nagle's algorithm holds, and nobody is delayed.
const PERIODIC: &str = r#"
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    while end.recv(1000):
        pass
server = threading.Thread(target=serve)
server.start()
client = socket.create_connection(listener.getsockname())
for _ in range(100):
    client.sendall(b"x" * 100)
    time.sleep(0.003)
client.close()
server.join()
"#;

fn guard(source: &str, program: &str, how: &str) -> Output {
    let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    guard.args(["guard", "--source", source, "--", "python3", "-c"]);
    guard.args([program, how]).env_remove("GITHUB_ACTIONS");
    guard.output().expect("tinygram starts")
}

/// Returns the number of stalls from the last line; `None`, with the reason printed, if this
/// machine cannot count them.
fn stalls(output: &Output) -> Option<u64> {
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        assert!(std::env::var_os("CI").is_none(), "{said}");
        println!("skipped: {}", said.trim());
        return None;
    }
    let line = said.lines().find(|line| line.contains(" connection stall"));
    let number = line.and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
    Some(number.unwrap_or_else(|| panic!("no count in {said}")))
}

#[test]
fn both_ways_to_look_find_the_same_stalls() {
    // The first answer of a connection is acknowledged at once, and others may be.
    for (program, least) in [(EVENT_LOOP, 8 * 8), (DUPLEX, 8)] {
        for source in ["preload", "kernel"] {
            let held = guard(source, program, "nagle");
            let Some(count) = stalls(&held) else { continue };
            assert!(count >= least, "{source}: {count} of {least}");
            assert_eq!(held.status.code(), Some(1));
            let clean = guard(source, program, "nodelay");
            assert_eq!(stalls(&clean), Some(0), "{source}");
            assert_eq!(clean.status.code(), Some(0));
        }
    }
}

/// Both sources name the same line of the script, or no Python line if neither knows it.
#[test]
fn both_ways_to_look_name_the_same_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("answers.py");
    std::fs::write(&script, EVENT_LOOP).unwrap();
    let line = EVENT_LOOP
        .lines()
        .position(|line| line.contains("# it waits here"));
    let place = format!("(answers.py:{})", line.unwrap() + 1);
    let mut named = Vec::new();
    for source in ["preload", "kernel"] {
        let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        guard.args(["guard", "--github", "--source", source, "--", "python3"]);
        guard.arg(&script).arg("nagle");
        let output = guard.output().expect("tinygram starts");
        if stalls(&output).is_none() {
            continue;
        }
        let notes = String::from_utf8_lossy(&output.stdout);
        let said = |note: &&str| note.contains(", written by ") && note.contains(&place);
        let note = notes.lines().find(said);
        named.push(note.is_some());
        if let Some(note) = note {
            let annotated = format!("answers.py,line={},", line.unwrap() + 1);
            assert!(note.contains(&annotated), "{note}");
        }
    }
    named.dedup();
    assert!(named.len() <= 1, "only one of them names {place}");
    if named == [false] {
        println!("skipped: this Python's frames are not known");
    }
}

/// The interpreter's frames are copied only once it is known where they are, so the line of the first stall is not known.
#[test]
fn a_habit_is_one_line_although_its_first_stall_has_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("asks.py");
    std::fs::write(&script, SHORT_TIMER).unwrap();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    guard.args(["guard", "--source", "kernel", "--", "python3"]);
    guard.arg(&script).arg("40000");
    let output = guard.output().expect("tinygram starts");
    let Some(count) = stalls(&output) else { return };
    assert!(count > 5, "{count}");
    let said = String::from_utf8_lossy(&output.stderr);
    let habits = said
        .lines()
        .filter(|line| line.contains("(write-write-read)"));
    assert_eq!(habits.count(), 1, "{said}");
}

/// What has arrived and is less than the server waits for does not say that the server is late.
#[test]
fn a_reader_that_waits_for_more_is_not_late() {
    for how in ["lowat", "peek"] {
        let output = guard("kernel", WAITS_FOR_MORE, how);
        let Some(stalls) = stalls(&output) else {
            return;
        };
        // The first exchange is not held; a late scheduler may spare another.
        assert!(stalls >= 8, "{how}: {stalls}");
        assert_eq!(output.status.code(), Some(1), "{how}");
    }
}

/// The timer is the receiver's own: a server that sets it to 8 ms, or to 1 ms, makes its client wait as long.
#[test]
fn a_stall_is_as_short_as_the_receivers_timer() {
    for (microseconds, least_ms, most_ms) in [("8000", 4.0, 40.0), ("1000", 0.0, 40.0)] {
        let output = guard("kernel", SHORT_TIMER, microseconds);
        if !output.stdout.is_empty() {
            println!("skipped: this kernel has no TCP_DELACK_MAX_US");
            return;
        }
        let Some(stalls) = stalls(&output) else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        // The first exchange is not held, and a late thread may spare others.
        assert!(stalls > 5, "{microseconds}: {said}");
        let in_all = said
            .split_once(" times, ")
            .and_then(|(_, rest)| rest.split(' ').next());
        let in_all: f64 = in_all.and_then(|ms| ms.parse().ok()).expect(&said);
        let each_ms = in_all / stalls as f64;
        assert!((least_ms..most_ms).contains(&each_ms), "{said}");
    }
}

#[test]
fn a_timer_that_had_nothing_to_acknowledge_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("now-and-then.rec");
    let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    guard.args(["guard", "--source", "kernel", "--record"]);
    guard.arg(&file).args(["--", "python3", "-c", NOW_AND_THEN]);
    let output = guard.env_remove("GITHUB_ACTIONS").output().unwrap();
    let Some(stalls) = stalls(&output) else {
        return;
    };
    assert_eq!(stalls, 0);
    let octets = std::fs::read(&file).unwrap();
    let mut rest = &octets[octets.iter().position(|o| *o == b'\n').unwrap() + 1..];
    let mut timers = 0;
    let said = String::from_utf8_lossy(&output.stdout);
    let server: u16 = said.trim().parse().expect("the server's port");
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (record, next) = behind.split_at(8 + u32::from_le_bytes(*length) as usize);
        // The end's own port stands behind what, unread, cookie, two addresses, four numbers and the family.
        let own_port = u16::from_ne_bytes([record[8 + 66], record[8 + 67]]);
        timers += u32::from(record[8] == 7 && own_port == server);
        rest = next;
    }
    // The client owes an acknowledgment of each answer; the server, if its thread is in time, owes none.
    assert!(timers < 10, "{timers} timers of the server in 20 exchanges");
}

/// "0 connection stalls." means little without what was looked at; each source says it.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn both_ways_to_look_say_how_much_was_seen() {
    for source in ["preload", "kernel"] {
        let output = guard(source, NOW_AND_THEN, "");
        if stalls(&output).is_none() {
            continue;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // Both ends count, 20 writes each.
        assert!(
            said.contains(": 2 connections, 40 writes, "),
            "{source}: {said}"
        );
        assert!(said.contains(" segments"), "{source}: {said}");
        let nothing = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(["guard", "--source", source, "--", "true"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&nothing.stderr);
        assert!(
            said.contains(": 0 connections, 0 writes, 0 segments, asked of"),
            "{source}: {said}"
        );
        assert!(said.contains("NOTHING WAS TESTED"), "{source}: {said}");
        let too_few = Command::new(env!("CARGO_BIN_EXE_tinygram"))
            .args(["guard", "--source", source, "--min-connections", "1"])
            .args(["--", "true"])
            .output()
            .unwrap();
        assert_eq!(too_few.status.code(), Some(3), "{source}");
    }
}

#[test]
fn who_waits_for_nobody_does_not_stall() {
    for source in ["preload", "kernel"] {
        let free = guard(source, PERIODIC, "");
        assert!(matches!(stalls(&free), None | Some(0)), "{source}");
    }
}

#[test]
fn without_privileges_the_library_looks_and_says_so() {
    let nobody = |source: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.args(["--inh-caps=-all", "--", env!("CARGO_BIN_EXE_tinygram")]);
        command.arg("guard").args(source).arg("--");
        command.args(["python3", "-c", DUPLEX, "nagle"]);
        command.env_remove("HOME").env_remove("GITHUB_ACTIONS");
        command.output()
    };
    // SAFETY: no argument, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let runs = Command::new("setpriv").arg("--version").output();
    let readable = std::fs::File::open(env!("CARGO_BIN_EXE_tinygram")).is_ok();
    if runs.is_err() || !is_root || !readable {
        println!("skipped: it takes root to become nobody, and setpriv");
        return;
    }
    let output = nobody(&[]).expect("setpriv starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("Permission denied") {
        println!("skipped: nobody may not read this program: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains(
            "asked of each socket after its writes (preloaded library); not of the kernel:"
        ),
        "{said}"
    );
    let output = nobody(&["--source", "kernel"]).expect("setpriv starts");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn what_the_library_cannot_look_into_is_said() {
    let escaped = r#"exec env -i "$(command -v python3)" -c "print(1)""#;
    let output = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["guard", "--source", "preload", "--", "sh", "-c", escaped])
        .output();
    let output = output.expect("tinygram starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("could not look at everything"), "{said}");
    assert!(said.contains("started without LD_PRELOAD"), "{said}");
}

/// `guard ... 2>&1 | true`: nobody reads, and the exit code is the same.
#[test]
fn a_closed_pipe_ends_no_live_verb() {
    for (arguments, code) in [
        (&["guard", "--", "true"][..], 0),
        (&["guard", "--github", "--", "true"], 0),
        (&["guard", "--github", "--", "false"], 1),
        (&["guard", "--source", "preload", "--", "true"], 0),
        (
            &[
                "guard", "--source", "preload", "--github", "--", "sh", "-c", "exit 7",
            ],
            7,
        ),
        (&["watch", "--once", "10ms"], 0),
        (&["ps"], 0),
        (&["run", "--stats", "--", "true"], 0),
        (&["run", "--stats", "--", "false"], 1),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command.args(arguments);
        assert_eq!(unread(&mut command), Some(code), "{arguments:?}");
    }
}

/// The annotations for GitHub are a result that nobody reads here; the stalls are there all the same.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_closed_pipe_hides_no_stall() {
    for source in ["kernel", "preload"] {
        if guard(source, EVENT_LOOP, "nagle").status.code() == Some(3) {
            eprintln!("skipped: the {source} source cannot look here");
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        command.args(["guard", "--github", "--source", source, "--"]);
        command.args(["python3", "-c", EVENT_LOOP, "nagle"]);
        assert_eq!(unread(&mut command), Some(1), "{source}");
    }
}

/// Returns the exit code of a command whose output nobody reads.
fn unread(command: &mut Command) -> Option<i32> {
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let status = command.stdout(closed()).stderr(closed()).status().unwrap();
    status.code()
}
