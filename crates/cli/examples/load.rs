//! A closed-loop load for any request-and-answer protocol over TCP, for scripts/run-table.
//!
//! `load ADDRESS CONNECTIONS SECONDS REQUEST [HELLO]`: each connection writes the bytes of the file
//! HELLO once, then the bytes of REQUEST over and over, each time after the whole answer has come.
//! How long an answer is, is learned from the first one. Prints
//! one JSON object.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

#[allow(
    clippy::disallowed_methods,
    reason = "a load generator measures real time"
)]
fn now() -> Instant {
    Instant::now()
}

/// What one connection saw.
struct Seen {
    latencies_us: Vec<f64>,
    segments: u32,
    seconds: f64,
    answer_bytes: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, connections, seconds, request, hello @ ..] = arguments.as_slice() else {
        eprintln!("usage: load ADDRESS CONNECTIONS SECONDS REQUEST [HELLO]");
        std::process::exit(2);
    };
    let read = |path: &String| Arc::new(std::fs::read(path).expect("a readable file"));
    let (request, hello) = (read(request), hello.first().map(read));
    let duration = Duration::from_secs_f64(seconds.parse().expect("seconds"));
    let threads: Vec<_> = (0..connections.parse::<usize>().expect("a number"))
        .map(|_| {
            let (address, request, hello) = (address.clone(), Arc::clone(&request), hello.clone());
            thread::spawn(move || converse(&address, &request, hello.as_deref(), duration))
        })
        .collect();
    report(
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a connection failed"))
            .collect(),
    );
}

fn converse(address: &str, request: &[u8], hello: Option<&Vec<u8>>, duration: Duration) -> Seen {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("an option");
    if let Some(hello) = hello {
        stream.write_all(hello).expect("the server reads");
        until_quiet(&mut stream);
    }
    stream.write_all(request).expect("the server reads");
    let answer_bytes = until_quiet(&mut stream);
    assert!(answer_bytes > 0, "the server did not answer");
    let mut buffer = vec![0; answer_bytes];
    let mut latencies_us = Vec::new();
    let mut segments_before = segments_received(&stream);
    let mut begun = now();
    let warm_up = duration / 10;
    let mut warm = false;
    while begun.elapsed() < duration {
        if !warm && begun.elapsed() > warm_up {
            warm = true;
            latencies_us.clear();
            segments_before = segments_received(&stream);
            begun = now();
        }
        let asked = now();
        stream.write_all(request).expect("the server reads");
        stream
            .read_exact(&mut buffer)
            .expect("answers are of one length");
        latencies_us.push(asked.elapsed().as_nanos() as f64 / 1e3);
    }
    let segments = segments_received(&stream) - segments_before;
    Seen {
        latencies_us,
        segments,
        seconds: begun.elapsed().as_secs_f64(),
        answer_bytes,
    }
}

/// Reads until nothing comes for 400 ms. The first byte may take longer: some servers warm up.
fn until_quiet(stream: &mut TcpStream) -> usize {
    let mut buffer = [0; 65536];
    let mut bytes = 0;
    let mut patience = Duration::from_secs(10);
    loop {
        stream.set_read_timeout(Some(patience)).expect("an option");
        let Ok(more @ 1..) = stream.read(&mut buffer) else {
            break;
        };
        bytes += more;
        patience = Duration::from_millis(400);
    }
    stream.set_read_timeout(None).expect("an option");
    bytes
}

fn report(seen: Vec<Seen>) {
    let answer_bytes = seen[0].answer_bytes;
    let seconds = seen.iter().map(|one| one.seconds).fold(0.0, f64::max);
    let segments: u32 = seen.iter().map(|one| one.segments).sum();
    let mut latencies: Vec<f64> = seen.into_iter().flat_map(|one| one.latencies_us).collect();
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    let document = serde_json::json!({
        "answers": latencies.len(),
        "per_second": latencies.len() as f64 / seconds,
        "p50_us": at(0.5),
        "p99_us": at(0.99),
        "segments_per_answer": f64::from(segments) / latencies.len() as f64,
        "answer_bytes": answer_bytes,
    });
    println!("{document}");
}

/// `tcpi_data_segs_in`, the 38th word of `struct tcp_info`.
fn segments_received(stream: &TcpStream) -> u32 {
    let mut info = [0_u32; 40];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    assert_eq!(failed, 0);
    info[38]
}
