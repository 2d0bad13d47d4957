//! `--policy observe` names the source line of the writes that wait.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::programs::{compile, text, tinygram};

/// Thirty questions in two pieces each, of which the second waits: the peer answers whole questions
/// and delays its acknowledgments. The first pieces are acknowledged at once, as the kernel does on
/// a young connection.
const ROUNDS: usize = 30;
const QUESTION: usize = 8;

const C: &str = r#"
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

__attribute__((noinline)) static int ask(int fd)
{
    char answer;
    int put = write(fd, "head", 4);
    put += write(fd, "body", 4); /* it waits here */
    return put == 8 && read(fd, &answer, 1) == 1;
}

int main(int argc, char **argv)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[argc - 1]))};
    int fd = socket(AF_INET, SOCK_STREAM, 0), asked = 0;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&to, sizeof to)) return 1;
    while (asked < 30 && ask(fd)) asked++;
    return asked != 30;
}
"#;

const CPP: &str = r#"
#include <arpa/inet.h>
#include <cstdlib>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace talk {
class Peer {
    int fd;
public:
    explicit Peer(int fd) : fd(fd) {}
    __attribute__((noinline)) bool ask(const std::string &head, const std::string &body)
    {
        char answer;
        ssize_t put = send(fd, head.data(), head.size(), 0);
        put += send(fd, body.data(), body.size(), 0); /* it waits here */
        return put == 8 && recv(fd, &answer, 1, 0) == 1;
    }
};
}

int main(int argc, char **argv)
{
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(std::atoi(argv[argc - 1]));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0), asked = 0;
    if (connect(fd, (sockaddr *)&to, sizeof to)) return 1;
    talk::Peer peer(fd);
    while (asked < 30 && peer.ask("head", "body")) asked++;
    return asked != 30;
}
"#;

const RUST: &str = r#"
use std::io::{Read, Write};
use std::net::TcpStream;

#[inline(never)]
fn ask(peer: &mut TcpStream) {
    peer.write_all(b"head").unwrap();
    peer.write_all(b"body").unwrap(); /* it waits here */
    peer.read_exact(&mut [0]).unwrap();
}

fn main() {
    let port = std::env::args().last().unwrap().parse().unwrap();
    let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
    for _ in 0..30 {
        ask(&mut peer);
    }
}
"#;

const PYTHON: &str = r#"
import socket, sys

def ask(peer):
    peer.sendall(b"head")
    peer.sendall(b"body") # it waits here
    peer.recv(1)

peer = socket.create_connection(("127.0.0.1", int(sys.argv[-1])))
for _ in range(30):
    ask(peer)
"#;

#[test]
fn the_line_of_a_c_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("asks");
    let source = written(folder.path(), "asks.c", C);
    for flags in [&["-g", "-O2"][..], &["-g", "-O0"]] {
        if !compile(&source, &program, flags) {
            return eprintln!("skipped: there is no C compiler");
        }
        let seen = observed(&[&program]);
        named(&seen, "ask", Some(("asks.c", line_of(C))));
        let words = seen["in_words"].as_array().unwrap();
        let line = format!("of them written by ask (asks.c:{})", line_of(C));
        let said = |word: &Value| word.as_str().unwrap().contains(&line);
        assert!(words.iter().any(said), "{words:#?}");
    }
}

/// Without debug information the function is named; without symbols, the offset in the file.
#[test]
fn a_c_program_that_tells_less_is_not_given_lines() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("asks");
    let source = written(folder.path(), "asks.c", C);
    for (flag, function) in [("-O2", "ask"), ("-s", "asks+0x")] {
        if !compile(&source, &program, &[flag]) {
            return eprintln!("skipped: there is no C compiler");
        }
        named(&observed(&[&program]), function, None);
    }
}

#[test]
fn the_line_of_a_cpp_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("asks");
    let source = written(folder.path(), "asks.cc", CPP);
    if !compile(&source, &program, &["-g", "-O1", "-lstdc++"]) {
        return eprintln!("skipped: there is no C++ compiler");
    }
    let seen = observed(&[&program]);
    named(&seen, "talk::Peer::ask", Some(("asks.cc", line_of(CPP))));
}

#[test]
fn the_line_of_a_rust_program() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("asks");
    let source = written(folder.path(), "asks.rs", RUST);
    let built = Command::new("rustc")
        .args(["-g", "--crate-name", "asks", "-o"])
        .args([&program, &source])
        .output();
    if !built.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: there is no rustc");
    }
    let seen = observed(&[&program]);
    named(&seen, "asks::ask", Some(("asks.rs", line_of(RUST))));
}

/// The site is a line of the script, never one of the interpreter's own functions.
#[test]
fn the_line_of_a_python_program() {
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), "asks.py", PYTHON);
    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no python3");
    }
    let seen = observed(&[Path::new("python3"), &source]);
    let sites = seen["counts"]["stall_sites"].as_array().unwrap();
    if sites.is_empty() {
        return eprintln!("skipped: this Python's frames are not known, or may not be read");
    }
    named(&seen, "ask", Some(("asks.py", line_of(PYTHON))));
}

/// A child that is forked for a connection, writes in a signal handler and exits at once.
#[test]
fn traces_are_taken_in_handlers_and_children_and_nothing_is_left_behind() {
    let source = C
        .replace(
            "int main(",
            "static int fd, asked;\nstatic void on_alarm(int n) { (void)n; asked += ask(fd); }\nint main(",
        )
        .replace("int fd = socket(AF_INET, SOCK_STREAM, 0), asked = 0;", "fd = socket(AF_INET, SOCK_STREAM, 0); if (fork()) { wait(0); return 0; } signal(SIGALRM, on_alarm);")
        .replace("while (asked < 30 && ask(fd)) asked++;", "for (int n = 0; n < 30; n++) raise(SIGALRM);")
        .replace("#include <unistd.h>", "#include <signal.h>\n#include <sys/wait.h>\n#include <unistd.h>");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("asks");
    if !compile(
        &written(folder.path(), "asks.c", &source),
        &program,
        &["-g"],
    ) {
        return eprintln!("skipped: there is no C compiler");
    }
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let seen = observed_in(&temporary, &[&program]);
    named(&seen, "ask", Some(("asks.c", line_of(&source))));
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// As in a container: a filter of system calls is in force, which might kill the process for an
/// unnecessary call.
#[test]
fn under_a_filter_the_line_of_the_first_thread_is_known() {
    let filters = r#"
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stddef.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            struct sock_filter kill_for_reading_memory[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            };
            struct sock_fprog program = {4, kill_for_reading_memory};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
            execv(argv[argc > 1], argv + 1);
            return 1;
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let [filter, program] = ["filter", "asks"].map(|name| folder.path().join(name));
    let compiled = [
        compile(&written(folder.path(), "filter.c", filters), &filter, &[]),
        compile(&written(folder.path(), "asks.c", C), &program, &["-g"]),
    ];
    if compiled != [true, true] {
        return eprintln!("skipped: there is no C compiler");
    }
    // The process that names the line is under the filter too; it does not need the forbidden call
    // for this program.
    let mut run = Command::new(&filter);
    run.arg(tinygram().get_program()).env_remove("LD_PRELOAD");
    let seen = observed_by(run, &[&program]);
    named(&seen, "ask", Some(("asks.c", line_of(C))));
}

/// Checks that the first site is this one, and that most of the waits are attributed to it.
fn named(seen: &Value, function: &str, place: Option<(&str, usize)>) {
    let sites = &seen["counts"]["stall_sites"];
    let site = &sites[0];
    let stalls = seen["counts"]["peers"][0]["stalls"].as_u64().unwrap();
    assert!(stalls > 5, "{seen:#}");
    assert!(site["stalls"].as_u64().unwrap() > stalls / 2, "{seen:#}");
    let named = site["function"].as_str().unwrap();
    assert!(
        named == function
            || function.ends_with("+0x") && named.starts_with(function)
            || named.starts_with(&format!("{function}(")),
        "{named}: {sites:#}"
    );
    match place {
        None => assert!(site["line"].is_null(), "{sites:#}"),
        Some((file, line)) => {
            assert!(site["file"].as_str().unwrap().ends_with(file), "{sites:#}");
            assert_eq!(site["line"], line, "{sites:#}");
        }
    }
    // No line is named that caused no wait.
    assert_eq!(sites.as_array().unwrap().len(), 1, "{sites:#}");
}

fn observed(program: &[&Path]) -> Value {
    observed_in(&std::env::temp_dir(), program)
}

fn observed_in(temporary: &Path, program: &[&Path]) -> Value {
    let mut run = tinygram();
    run.env("TMPDIR", temporary);
    observed_by(run, program)
}

/// Runs the program against a peer that answers whole questions; returns the counts.
fn observed_by(mut run: Command, program: &[&Path]) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let peer = thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        for _ in 0..ROUNDS {
            peer.read_exact(&mut [0; QUESTION]).unwrap();
            peer.write_all(&[1]).unwrap();
        }
        until_the_end(peer);
    });
    let output = run
        .args(["run", "--policy", "observe", "--stats=json", "--"])
        .args(program)
        .arg(&port)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    peer.join().unwrap();
    serde_json::from_slice(&output.stderr).expect("statistics")
}

fn until_the_end(mut peer: TcpStream) {
    let _ = peer.read_to_end(&mut Vec::new());
}

fn written(folder: &Path, name: &str, source: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, source).unwrap();
    path
}

/// Returns the number of the line whose write waits.
fn line_of(source: &str) -> usize {
    let mark = |line: &str| line.contains("it waits here");
    1 + source.lines().position(mark).unwrap()
}
