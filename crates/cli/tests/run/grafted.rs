//! Go programs: built here, run as they are and under `run`, and asked over one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::built::{self, Built};
use crate::gates::{lookalike, refused};
use crate::programs::tinygram;

const PIECES: u32 = 8;
const ANSWERS: u32 = 2_000;

/// Builds the server.
pub(super) fn in_go() -> Option<Built> {
    built::in_go("tests/run/go/main.go")
}

pub(super) struct Server(pub(super) Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server and returns it with its address.
pub(super) fn started(mut command: Command) -> (Server, String) {
    let mut child = command
        .arg(PIECES.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let output = child.stdout.take().expect("piped");
    BufReader::new(output).read_line(&mut address).unwrap();
    (Server(child), address.trim().to_owned())
}

/// Asks for answers, checks every octet, and returns the data segments of the median answer. (On a busy machine
/// a few are always cut in two by the watchdog.)
pub(super) fn segments_per_answer(address: &str) -> f64 {
    segments_of(ANSWERS, address)
}

/// As [`segments_per_answer`], for so many answers.
pub(super) fn segments_of(answers: u32, address: &str) -> f64 {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    segments_over(&stream, answers)
}

/// As [`segments_of`], over a connection that stands.
pub(super) fn segments_over(mut stream: &TcpStream, answers: u32) -> f64 {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut before = data_segments_in(stream);
    let mut segments = Vec::new();
    for answer in 0..answers {
        writeln!(stream, "question {answer}").unwrap();
        for piece in 0..PIECES {
            let line = lines.next().expect("a line").unwrap();
            assert_eq!(line, format!("question {answer} {piece}"));
        }
        let now = data_segments_in(stream);
        segments.push(now - before);
        before = now;
    }
    segments.sort_unstable();
    f64::from(segments[segments.len() / 2])
}

/// Returns `tcpi_data_segs_in`.
pub(super) fn data_segments_in(stream: &TcpStream) -> u32 {
    const AT: usize = 152;
    let mut info = [0_u8; 192];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert_eq!(result, 0);
    u32::from_ne_bytes(info[AT..AT + 4].try_into().unwrap())
}

#[test]
fn a_go_server_answers_in_one_segment() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let (as_is, address) = started(Command::new(&program));
    let before = segments_per_answer(&address);
    drop(as_is);
    assert!(before > 6.0, "{before} segments an answer without us");
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program);
    let (covered, address) = started(command);
    let after = segments_per_answer(&address);
    drop(covered);
    // The first answers teach the predictor; on a busy machine the watchdog sends some in two.
    assert!(after < 1.5, "{after} segments an answer under run");
}

/// The head is held, and sendfile(2) takes it along: without a flush of its own, which would cost a call
/// and save nothing.
#[test]
fn a_file_leaves_with_its_head() {
    let Some((folder, program)) = in_go() else {
        return;
    };
    let file = folder.path().join("file");
    let content = "0123456789\n".repeat(50);
    std::fs::write(&file, &content).unwrap();
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program).env("FILE", &file);
    let (_server, address) = started(command);
    let expected = format!("head\n{content}");
    // On a busy machine the watchdog sends some heads before their files; a flush of its own would be
    // there every time.
    let rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| segments_per_file(&address, &expected))
        .collect();
    assert!(
        rounds.iter().any(|segments| *segments < 1.5),
        "{rounds:?} segments an answer"
    );
}

const ROUNDS: u32 = 5;

/// Asks over one connection for what is expected, and returns the segments an answer took.
fn segments_per_file(address: &str, expected: &str) -> f64 {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answer = vec![0; expected.len()];
    for _ in 0..ANSWERS {
        stream.write_all(b"question\n").unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, expected.as_bytes());
    }
    f64::from(data_segments_in(&stream)) / f64::from(ANSWERS)
}

/// Runs the server with these options, asks it over one connection, ends it, and returns the address
/// and what `--stats=json` showed.
fn counted(program: &Path, options: &[&str]) -> (String, serde_json::Value) {
    let shown = program.with_extension("json");
    let _ = std::fs::remove_file(&shown);
    let mut command = tinygram();
    command.args(["run", "--stats=json", "--stats-to"]);
    command.arg(&shown).args(options).arg("--").arg(program);
    let (mut server, address) = started(command);
    segments_per_answer(&address);
    // The server closes the connection.
    std::thread::sleep(std::time::Duration::from_millis(300));
    // SAFETY: a process of this test's.
    unsafe { libc::kill(server.0.id() as i32, libc::SIGTERM) };
    server.0.wait().unwrap();
    for _ in 0..100 {
        if let Ok(text) = std::fs::read_to_string(&shown) {
            return (address, serde_json::from_str(&text).unwrap());
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("no statistics");
}

#[test]
fn what_was_done_in_a_go_program_is_counted_by_remote_address() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let (address, shown) = counted(&program, &[]);
    let port: u64 = address.rsplit(':').next().unwrap().parse().unwrap();
    assert_eq!(shown["policy"], "flush-on-block");
    assert_eq!(shown["signal"], libc::SIGTERM, "{shown:#}");
    let peers = shown["counts"]["peers"].as_array().unwrap();
    let [peer] = &peers[..] else {
        panic!("{shown:#}")
    };
    assert_eq!(peer["remote"], "127.0.0.1");
    assert_eq!(peer["service_port"], port);
    assert_eq!(peer["accepted"], true);
    let number = |name: &str| peer[name].as_u64().unwrap();
    assert_eq!(number("writes"), u64::from(ANSWERS * PIECES));
    assert_eq!(number("connections"), 1);
    assert_eq!(number("connections_ended_unseen"), 0);
    // One segment an answer, but for the first and what the watchdog rescued.
    let sent = number("segments_sent");
    assert!(
        sent >= ANSWERS.into() && sent < u64::from(ANSWERS) * 3 / 2,
        "{sent}"
    );
    let saved = number("writes") - sent;
    let merged = number("writes_merged");
    assert!(
        merged.abs_diff(saved) <= saved / 10,
        "{merged} merged, {saved} saved"
    );
    assert!(peer.get("stalls").is_none(), "not measured: {peer:#}");
}

#[test]
fn policies_and_filters_hold_for_a_go_program() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let peer = |options: &[&str]| {
        let (_, shown) = counted(&program, options);
        shown["counts"]["peers"][0].clone()
    };
    let all = u64::from(ANSWERS * PIECES);
    // Passed through, and nothing is said of it.
    assert!(peer(&["--only", "10.0.0.0/8"]).is_null());
    assert!(peer(&["--only", "1"]).is_null());
    let covered = peer(&["--only", "10.0.0.0/8", "--only", "127.0.0.0/8"]);
    assert!(
        covered["writes_merged"].as_u64() > Some(all / 2),
        "{covered:#}"
    );
    let nodelay = peer(&["--policy", "nodelay"]);
    assert_eq!(nodelay["writes_held"], 0);
    assert_eq!(nodelay["segments_sent"], all);
    let observed = peer(&["--policy", "observe"]);
    assert_eq!(observed["segments_sent"], all);
    assert!(
        observed["writes_held"].as_u64() > Some(all / 2),
        "{observed:#}"
    );
}

#[test]
fn a_go_program_is_switched_and_shown_while_it_runs() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let mut command = tinygram();
    command
        .args(["run", "--policy", "nodelay", "--"])
        .arg(&program);
    let (server, address) = started(command);
    let pid = server.0.id().to_string();
    assert!(segments_per_answer(&address) > 6.0);
    let said = |arguments: &[&str]| {
        let output = tinygram().args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        text
    };
    let switched = said(&["run", "--switch", &pid, "--policy", "flush-on-block"]);
    assert!(
        switched.contains("nodelay -> flush-on-block (0 writes held"),
        "{switched}"
    );
    assert!(segments_per_answer(&address) < 1.5);
    let open = TcpStream::connect(&address).unwrap();
    let port = address.rsplit(':').next().unwrap();
    let shown = said(&["ps", port]);
    assert!(shown.contains("flush-on-block held "), "{shown}");
    drop(open);
    let switched = said(&["run", "--switch", &pid, "--policy", "nodelay"]);
    assert!(
        switched.contains("flush-on-block -> nodelay ("),
        "{switched}"
    );
    assert!(segments_per_answer(&address) > 6.0);
}

#[test]
fn a_go_program_keeps_its_number_its_arguments_and_its_exit_code() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program);
    let (server, _) = started(command);
    let pid = server.0.id();
    let name = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    assert_eq!(name, program.canonicalize().unwrap());
    drop(server);
    // Without its argument the server panics, with exit code 2, and says so itself.
    let output = tinygram()
        .args(["run", "--"])
        .arg(&program)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("index out of range"), "{said}");
}

/// What is put into programs was compiled for aarch64 and never tried there.
#[test]
fn a_program_for_aarch64_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let program = lookalike(folder.path(), &["-static"]);
    let mut octets = std::fs::read(&program).unwrap();
    // EM_AARCH64 in e_machine.
    octets[18..20].copy_from_slice(&183_u16.to_le_bytes());
    std::fs::write(&program, octets).unwrap();
    let output = tinygram().args(["run", "--"]).arg(&program).output();
    refused(
        &output.unwrap(),
        "is built for aarch64, on which run was never tried",
    );
}

/// The program can write into the shared memory. A time there that never comes must neither keep the
/// watchdog's process alive after the program's end nor keep it from looking.
#[test]
fn a_time_that_never_comes_does_not_keep_the_watchdog_alive() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program);
    let (server, address) = started(command);
    segments_per_answer(&address);
    let pid = server.0.id();
    let keeper = keeper_of(program.to_str().unwrap()).expect("a keeper");
    poison(pid, 60_000);
    // It looks and pauses with what stands there.
    segments_per_answer(&address);
    drop(server);
    for _ in 0..50 {
        if !Path::new(&format!("/proc/{keeper}")).exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // SAFETY: a process of this test's.
    unsafe { libc::kill(keeper, libc::SIGKILL) };
    panic!("the keeper is still there 5 s after the program's end");
}

/// Returns the keeper whose command names this program or process.
pub(super) fn keeper_of(name: &str) -> Option<i32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.find(|pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.split('\0').nth(1) == Some("run") && line.contains(name)
    })
}

/// Marks a descriptor in the program's shared memory as held since the end of time.
fn poison(pid: u32, fd: usize) {
    use std::os::unix::fs::FileExt;
    use tinygram_graft::layout::{HELD, Shared, Socket};
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps.lines().find(|line| line.contains("memfd:tngraft"));
    let start = line.and_then(|line| line.split('-').next()).unwrap();
    let start = u64::from_str_radix(start, 16).unwrap();
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/mem"))
        .unwrap();
    let write = |offset: usize, value: u64| {
        let at = start + offset as u64;
        memory.write_all_at(&value.to_ne_bytes(), at).unwrap();
    };
    let socket = std::mem::offset_of!(Shared, sockets) + fd * size_of::<Socket>();
    write(
        socket + std::mem::offset_of!(Socket, since_ns),
        u64::MAX / 2,
    );
    write(socket + std::mem::offset_of!(Socket, mark), HELD);
    write(std::mem::offset_of!(Shared, highest), fd as u64);
    let word = std::mem::offset_of!(Shared, marked) + fd / 64 * 8;
    write(word, 1 << (fd % 64));
}
