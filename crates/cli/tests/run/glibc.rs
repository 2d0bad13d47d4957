//! Programs that glibc is linked into statically: some forty places instead of one.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::built::{Built, by, source};
use crate::grafted::{segments_of, started};
use crate::musl::{
    COVERED, STALLED, a_socket_becomes_a_file, answers_in_one_segment, before_and_after, changed,
    end_by_being_cancelled, end_while_there_is_no_room, refused,
};
use crate::programs::tinygram;

fn in_c() -> Option<Built> {
    let flags = ["-O2", "-static", "-s", "-pthread"];
    by("cc", &source("server.c"), &flags)
}

#[test]
fn a_static_program_in_c_answers_in_one_segment() {
    let Some((_folder, program)) = in_c() else {
        return;
    };
    for kind in ["thread", "poll"] {
        answers_in_one_segment(&program, kind);
    }
}

/// Rust's own target with the C library in it, whose `recv` loads arguments behind the call's number.
#[test]
fn a_static_program_in_rust_answers_in_one_segment() {
    let flags = ["--edition=2024", "-O", "-C", "target-feature=+crt-static"];
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let Some((_folder, program)) = by(&rustc, &source("server.rs"), &flags) else {
        return;
    };
    answers_in_one_segment(&program, "");
}

/// What leaves by `writev` alone is not held, but it does not wait for Nagle's algorithm either: each piece is a segment.
#[test]
fn a_program_that_only_writes_vectors_does_not_stall() {
    let Some((_folder, program)) = in_c() else {
        return;
    };
    let (before, after) = before_and_after(&program, "vector");
    assert!(before < 3.0, "{before} segments an answer without us");
    assert!(after > 7.9, "{after} segments an answer under run");
}

fn cancelled() -> Option<Built> {
    let flags = ["-O2", "-static", "-s", "-pthread"];
    by("cc", &source("cancelled.c"), &flags)
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

/// The rest of a held write for which there was no room goes without flags, whatever the register has in which `sendto`
/// has them.
#[test]
fn the_rest_of_a_write_is_sent_without_flags() {
    use std::io::Read;
    let flags = ["-O2", "-static", "-s"];
    let Some((_folder, program)) = by("cc", &source("register.c"), &flags) else {
        return;
    };
    let mut command = tinygram();
    command.args(["run", "--eager", "--"]).arg(&program);
    let (mut server, address) = started(command);
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    // Until there is no room.
    std::thread::sleep(Duration::from_millis(50));
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    assert!(server.0.wait().unwrap().success());
    let expected: String = (0..2000).map(|piece| format!("{piece:999}\n")).collect();
    let differs = (0..expected.len()).find(|at| received.get(*at) != expected.as_bytes().get(*at));
    assert_eq!((differs, received.len()), (None, expected.len()));
}

/// A thread that waits in `read` stands within the octets that become a jump.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn the_rule_comes_into_a_running_program_and_leaves_it() {
    let Some((folder, program)) = in_c() else {
        return;
    };
    let (server, address) = started(Command::new(&program));
    let pid = server.0.id();
    // Its thread waits for the next question.
    let waiting = std::net::TcpStream::connect(&address).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..2 {
        assert!(segments_of(STALLED, &address) > 1.9);
        changed(folder.path(), "--attach", pid);
        let covered = segments_of(COVERED, &address);
        assert!(covered < 1.5, "{covered} segments an answer");
        changed(folder.path(), "--detach", pid);
    }
    assert!(segments_of(STALLED, &address) > 1.9);
    drop(waiting);
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn children_are_left_alone() {
    let Some((_folder, program)) = in_c() else {
        return;
    };
    let (before, after) = before_and_after(&program, "child");
    assert!((before - after).abs() < 0.5, "{before} became {after}");
}

#[test]
fn a_socket_that_became_a_file_is_written_to_as_a_file() {
    let Some((folder, program)) = in_c() else {
        return;
    };
    a_socket_becomes_a_file(folder.path(), &program);
}

/// All that matters to the rule passes through the places that were found.
#[test]
fn verify_finds_no_place_past_the_rule() {
    use std::io::Read;
    let Some((_folder, program)) = in_c() else {
        return;
    };
    let mut command = tinygram();
    command.args(["run", "--verify", "--"]).arg(&program);
    command.env("KIND", "thread").stderr(Stdio::piped());
    let (mut server, address) = started(command);
    segments_of(STALLED, &address);
    std::thread::sleep(Duration::from_millis(1_500));
    let mut errors = server.0.stderr.take().unwrap();
    drop(server);
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("passed through the known places"), "{said}");
}

/// A program that waits in a place of its own, before which what is held could not leave.
#[test]
fn a_wait_in_an_unknown_place_is_refused_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let waits = folder.path().join("waits.c");
    let code = "#include <unistd.h>\nint main(void) { long r; __asm__ volatile(\"mov $7, %%eax\\n xor %%edi, %%edi\\n syscall\" : \"=a\"(r) : \"S\"(0L), \"d\"(0L) : \"rdi\", \"rcx\", \"r11\", \"memory\"); return write(1, \"\", 0); }";
    std::fs::write(&waits, code).unwrap();
    let Some((_built, program)) = by("cc", &waits, &["-static"]) else {
        return;
    };
    let said = refused(&program);
    assert!(said.contains("makes the system call 7"), "{said}");
}
