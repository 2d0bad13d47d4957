//! A program for which holding is worse is held no more, and `ps` says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::programs::{compile, text, tinygram};

/// Answers each request in eight pieces (fewer are not worth waking the watchdog for), with some work before each but the
/// first. Prints its port.
const SERVER: &str = r#"
#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void work(void) {
    struct timespec then, now;
    clock_gettime(CLOCK_MONOTONIC, &then);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - then.tv_sec) * 1000000000L + now.tv_nsec - then.tv_nsec < WORK_NS);
}
int main(void) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, len) || listen(listener, 8)) return 1;
    getsockname(listener, (struct sockaddr *)&at, &len);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    int peer = accept(listener, 0, 0);
    char request[64];
    while (read(peer, request, sizeof request) > 0) {
        for (int piece = 0; piece < PIECES; piece++) {
            if (piece) work();
            if (write(peer, "a", 1) != 1) return 1;
        }
    }
    return 0;
}
"#;

const PIECES: u32 = 8;
const WORK_NS: u64 = 40_000;

/// On a machine on which others take the processors in the middle of an answer, a trial may miss the difference.
const TRIES: u32 = 3;

/// The peer thinks for as long as an answer takes, from the answer's first octet on, and asks again.
/// With its pieces held it gets the first one only with the last, so a turn takes twice as long.
#[test]
fn a_service_whose_peers_need_the_first_piece_early_goes_over_to_nodelay() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("early.c"), folder.path().join("early"));
    std::fs::write(&source, SERVER).unwrap();
    let flags = [
        "-O2",
        &format!("-DPIECES={PIECES}"),
        &format!("-DWORK_NS={WORK_NS}"),
    ];
    assert!(compile(&source, &program, &flags), "a C compiler");
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (said, first) = serve_until_tried(&program);
        if said.contains("1 service over to NODELAY: holding was worse") {
            let whole = Duration::from_nanos(WORK_NS) * (PIECES - 1);
            assert!(first < whole, "its first piece came after {first:?}");
            return;
        }
        seen.push(said);
    }
    panic!("{}", seen.join("\n"));
}

/// Returns what `ps` says of a server once its service went over, or after 16 s; and how long the first octet of its
/// answers takes from then on, in the median. A trial may be running then, but most answers are between two.
#[expect(
    clippy::disallowed_methods,
    reason = "a real program answers in real time"
)]
fn serve_until_tried(program: &Path) -> (String, Duration) {
    let mut server = start(program);
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    let mut peer = TcpStream::connect(("127.0.0.1", port.trim().parse().unwrap())).unwrap();
    peer.set_nodelay(true).unwrap();
    let began = Instant::now();
    let said = loop {
        for _ in 0..500 {
            converse(&mut peer);
        }
        let mut ps = tinygram();
        let said = text(&ps.args(["ps", &server.id().to_string()]).output().unwrap());
        if said.contains("service over to NODELAY") || began.elapsed() > Duration::from_secs(16) {
            break said;
        }
    };
    let mut firsts: Vec<_> = (0..1_001).map(|_| converse(&mut peer)).collect();
    firsts.sort();
    drop(peer);
    server.wait().unwrap();
    (said, firsts[500])
}

/// Starts the server with a watchdog that a thread without a processor does not call at once.
fn start(program: &Path) -> std::process::Child {
    tinygram()
        .args(["run", "--watchdog", "20ms", "--"])
        .arg(program)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Asks, thinks, and returns how long the first octet took to come.
#[expect(
    clippy::disallowed_methods,
    reason = "a real program answers in real time"
)]
fn converse(peer: &mut TcpStream) -> Duration {
    let began = Instant::now();
    peer.write_all(b"?").unwrap();
    peer.read_exact(&mut [0]).unwrap();
    let first = began.elapsed();
    thread::sleep(Duration::from_nanos(WORK_NS) * (PIECES - 1));
    peer.read_exact(&mut [0; PIECES as usize - 1]).unwrap();
    first
}
