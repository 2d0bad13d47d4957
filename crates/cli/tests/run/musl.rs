//! Programs that are linked with musl statically: built here, run as they are and under `run`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::built::{Built, by, source};
use crate::grafted::{Server, segments_of, segments_per_answer, started};
use crate::programs::{text, tinygram};

fn in_c() -> Option<Built> {
    by("musl-gcc", &source("server.c"), &["-O2", "-static", "-s"])
}

/// Returns the segments of an answer, as the program is and under `run`; every octet is checked.
pub(super) fn before_and_after(program: &Path, kind: &str) -> (f64, f64) {
    let mut as_is = Command::new(program);
    as_is.env("KIND", kind);
    let (server, address) = started(as_is);
    let before = segments_of(STALLED, &address);
    drop(server);
    let mut command = tinygram();
    command.args(["run", "--"]).arg(program).env("KIND", kind);
    let (server, address) = started(command);
    let answers = if kind == "child" { STALLED } else { COVERED };
    let after = segments_of(answers, &address);
    drop(server);
    (before, after)
}

/// Asks a program as it is and under `run`.
pub(super) fn answers_in_one_segment(program: &Path, kind: &str) {
    let (before, after) = before_and_after(program, kind);
    // Nagle's algorithm holds what follows the first piece, if it is left alone.
    assert!(
        before > 1.9,
        "{kind}: {before} segments an answer without us"
    );
    assert!(after < 1.5, "{kind}: {after} segments an answer under run");
}

/// Puts the rule into a process (`--attach`), or takes it out (`--detach`).
pub(super) fn changed(folder: &Path, option: &str, pid: u32) {
    let mut command = tinygram();
    command.args(["run", option, &pid.to_string(), "--journal"]);
    command.arg(folder.join("journal"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{option}: {output:?}");
}

/// Has a descriptor that was a socket become a file, behind the C library's back, and looks at what was written.
pub(super) fn a_socket_becomes_a_file(folder: &Path, program: &Path) {
    let file = folder.join("file");
    let mut command = tinygram();
    command.args(["run", "--eager", "--"]).arg(program);
    command.env("KIND", "file").env("FILE", &file);
    let (_server, address) = started(command);
    segments_per_answer(&address);
    let expected: String = (0..8).map(|piece| format!("written {piece}\n")).collect();
    for _ in 0..100 {
        if std::fs::read_to_string(&file).is_ok_and(|content| content == expected) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{:?}", std::fs::read_to_string(&file));
}

/// Returns the one line with which a program is refused. It says what helps.
pub(super) fn refused(program: &Path) -> String {
    let output = tinygram().args(["run", "--"]).arg(program).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("tinygram run --cgroup"), "{said}");
    said
}

/// Answers that are asked for where each may wait 40 ms for an acknowledgment.
pub(super) const STALLED: u32 = 50;
/// Answers that are asked for elsewhere.
pub(super) const COVERED: u32 = 2_000;

#[test]
fn a_static_program_in_c_answers_in_one_segment() {
    let Some((_folder, program)) = in_c() else {
        return;
    };
    for kind in ["thread", "poll"] {
        answers_in_one_segment(&program, kind);
    }
}

#[test]
fn a_static_program_in_rust_answers_in_one_segment() {
    let target = ["--edition=2024", "-O", "--target=x86_64-unknown-linux-musl"];
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let Some((_folder, program)) = by(&rustc, &source("server.rs"), &target) else {
        return;
    };
    answers_in_one_segment(&program, "");
}

#[test]
fn the_rule_comes_into_a_running_static_program_and_leaves_it() {
    let Some((folder, program)) = in_c() else {
        return;
    };
    let (server, address) = started(Command::new(&program));
    let pid = server.0.id();
    assert!(segments_of(STALLED, &address) > 1.9);
    changed(folder.path(), "--attach", pid);
    let covered = segments_of(COVERED, &address);
    assert!(covered < 1.5, "{covered} segments an answer");
    changed(folder.path(), "--detach", pid);
    let after = segments_of(STALLED, &address);
    assert!(after > 1.9, "{after} segments an answer");
}

/// A child has the shared memory, but descriptors of its own: there everything passes.
#[test]
fn children_of_a_static_program_are_left_alone() {
    let Some((_folder, program)) = in_c() else {
        return;
    };
    let (before, after) = before_and_after(&program, "child");
    assert!((before - after).abs() < 0.5, "{before} became {after}");
}

/// musl's `dup2` does not pass through the place that is known.
#[test]
fn a_socket_that_became_a_file_is_written_to_as_a_file() {
    let Some((folder, program)) = in_c() else {
        return;
    };
    a_socket_becomes_a_file(folder.path(), &program);
}

/// Where `pthread_cancel` is linked in, the calls pass another place.
fn cancelled() -> Option<Built> {
    let flags = ["-O2", "-static", "-s", "-pthread"];
    by("musl-gcc", &source("cancelled.c"), &flags)
}

#[test]
fn a_static_program_that_cancels_threads_answers_in_one_segment() {
    let Some((_folder, program)) = cancelled() else {
        return;
    };
    answers_in_one_segment(&program, "");
}

#[test]
fn a_thread_that_is_cancelled_ends_wherever_it_is() {
    if let Some((_folder, program)) = cancelled() {
        end_by_being_cancelled(&program);
    }
}

#[test]
fn a_thread_that_is_cancelled_ends_while_it_waits_for_room() {
    if let Some((_folder, program)) = cancelled() {
        end_while_there_is_no_room(&program);
    }
}

/// Asks a server whose threads are cancelled, each while it answers or waits for a question; what arrives is what was to
/// be sent, up to the end.
pub(super) fn end_by_being_cancelled(program: &Path) {
    const CONNECTIONS: u32 = 200;
    let mut command = tinygram();
    command.args(["run", "--eager", "--"]).arg(program);
    command.env("CONNECTIONS", CONNECTIONS.to_string());
    let (server, address) = started(command);
    for number in 0..CONNECTIONS {
        let stream = TcpStream::connect(&address).unwrap();
        let asking = stream.try_clone().unwrap();
        let asks = std::thread::spawn(move || ask_until_it_fails(asking));
        // Every other one begins to read later.
        if number % 2 == 1 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let received = received_until_its_end(&stream);
        asks.join().unwrap();
        let lines = received.split_inclusive(|octet| *octet == b'\n');
        are_answers(lines, |question, piece| {
            format!("question {question} {piece}\n")
        });
    }
    ended_well(server);
}

/// Asks a server whose threads are cancelled while each waits for room, which there is only once it has ended.
pub(super) fn end_while_there_is_no_room(program: &Path) {
    let mut command = tinygram();
    command.args(["run", "--eager", "--"]).arg(program);
    command.env("CONNECTIONS", "1").env("FULL", "1");
    let (server, address) = started(command);
    let stream = TcpStream::connect(&address).unwrap();
    let asking = stream.try_clone().unwrap();
    let asks = std::thread::spawn(move || ask_until_it_fails(asking));
    ended_well(server);
    let received = received_until_its_end(&stream);
    asks.join().unwrap();
    assert!(!received.is_empty());
    are_answers(received.chunks(PIECE), |question, piece| {
        let question = format!("question {question} ");
        let width = PIECE - question.len() - 1;
        format!("{question}{piece:width$}\n")
    });
}

/// The octets of a piece where there is little room.
const PIECE: usize = 1_000;
/// How long a thread is waited for that is cancelled; it takes 0.3 s at most.
const LONGEST: Duration = Duration::from_secs(10);

/// Returns what arrives until the server closes the connection, or sends nothing for long.
fn received_until_its_end(stream: &TcpStream) -> Vec<u8> {
    let mut received = Vec::new();
    stream.set_read_timeout(Some(LONGEST)).unwrap();
    let _ = (&*stream).read_to_end(&mut received);
    let _ = stream.shutdown(Shutdown::Both);
    received
}

/// Compares what was received with the answers; the last piece may be a part of one.
fn are_answers<'a>(
    received: impl Iterator<Item = &'a [u8]>,
    expected: impl Fn(u32, u32) -> String,
) {
    let mut all = (0..).flat_map(|question| (0..8).map(move |piece| (question, piece)));
    let mut is_part = false;
    for line in received {
        let (question, piece) = all.next().unwrap();
        let expected = expected(question, piece);
        let said = String::from_utf8_lossy(line);
        assert!(
            !is_part && expected.starts_with(&*said),
            "{expected}: {said}"
        );
        is_part = line.len() < expected.len();
    }
}

/// Waits until the server has ended because all of its threads were cancelled.
fn ended_well(mut server: Server) {
    for _ in 0..200 {
        if let Some(status) = server.0.try_wait().unwrap() {
            assert!(status.success(), "{status:?}");
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("a thread was not cancelled");
}

/// Asks until the server closes the connection, which it does once the thread has ended.
#[allow(
    clippy::disallowed_methods,
    reason = "a thread of the real world is waited for"
)]
fn ask_until_it_fails(mut stream: TcpStream) {
    let latest = Instant::now() + LONGEST;
    for question in 0.. {
        if writeln!(stream, "question {question}").is_err() {
            return;
        }
        if Instant::now() > latest {
            let _ = stream.shutdown(Shutdown::Both);
            panic!("a thread was not cancelled");
        }
    }
}

#[test]
fn a_static_program_of_another_shape_is_refused_with_what_helps() {
    let Some((_folder, program)) = cancelled() else {
        return;
    };
    let mut octets = std::fs::read(&program).unwrap();
    // mov r11,rdi; mov rax,rsi; mov rdi,rdx: the first is changed to one that does the same.
    let usual = b"\x49\x89\xfb\x48\x89\xf0\x48\x89\xd7";
    let at = octets
        .windows(usual.len())
        .position(|nine| nine == usual)
        .unwrap();
    octets[at..at + 3].copy_from_slice(b"\x4c\x8b\xdf");
    std::fs::write(&program, octets).unwrap();
    let said = refused(&program);
    assert!(said.contains("calls pass in a known place"), "{said}");
}
