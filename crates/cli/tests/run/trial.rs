//! A program for which holding is worse is held no more, and `ps` says so.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::programs::{compile, text, tinygram};

/// Answers each request in three pieces, with some work before each but the first. Prints its port.
const SERVER: &str = r#"
#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void work(void) {
    struct timespec then, now;
    clock_gettime(CLOCK_MONOTONIC, &then);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - then.tv_sec) * 1000000000L + now.tv_nsec - then.tv_nsec < 150000);
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
        if (write(peer, "a", 1) != 1) return 1;
        work();
        if (write(peer, "b", 1) != 1) return 1;
        work();
        if (write(peer, "c", 1) != 1) return 1;
    }
    return 0;
}
"#;

/// The peer thinks for as long as an answer takes, from the answer's first octet on, and asks again.
/// With its pieces held it gets the first one only with the last, so a turn takes twice as long.
#[test]
fn a_service_whose_peers_need_the_first_piece_early_goes_over_to_nodelay() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("early.c"), folder.path().join("early"));
    std::fs::write(&source, SERVER).unwrap();
    assert!(compile(&source, &program, &["-O2"]), "a C compiler");
    let mut server = start(&program);
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    let mut peer = TcpStream::connect(("127.0.0.1", port.trim().parse().unwrap())).unwrap();
    peer.set_nodelay(true).unwrap();
    let began = Instant::now();
    let mut answers = 0_u64;
    let said = loop {
        for _ in 0..1_000 {
            converse(&mut peer);
        }
        answers += 1_000;
        let shown = tinygram()
            .args(["ps", &server.id().to_string()])
            .output()
            .unwrap();
        let said = text(&shown);
        if said.contains("over to NODELAY") || began.elapsed() > Duration::from_secs(60) {
            break said;
        }
    };
    drop(peer);
    server.wait().unwrap();
    assert!(
        said.contains("1 service over to NODELAY: holding was worse"),
        "after {answers} answers: {said}"
    );
}

fn start(program: &Path) -> std::process::Child {
    tinygram()
        .args(["run", "--"])
        .arg(program)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn converse(peer: &mut TcpStream) {
    peer.write_all(b"?").unwrap();
    peer.read_exact(&mut [0]).unwrap();
    thread::sleep(Duration::from_micros(250));
    peer.read_exact(&mut [0; 2]).unwrap();
}
