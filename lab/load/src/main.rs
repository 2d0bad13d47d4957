//! A closed-loop load for any request-and-answer protocol over TCP, for lab/run-table.
//!
//! Reads one JSON document ([`Order`]) from standard input: several servers, and in which order
//! they are loaded, one round at a time, over connections that stand throughout. So rounds can be
//! short, and those of two servers near enough in time to be compared in pairs. Each connection
//! writes the request over and over, each time after the whole answer has come; how long an answer
//! is, is learned from the first one. Writes one JSON object ([`Seen`]) a round.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tinygram_link::tcp_info::tcp_info;

/// What to do.
#[derive(serde::Deserialize)]
struct Order {
    servers: Vec<Server>,
    /// Connections to each server.
    connections: usize,
    /// The file with the bytes of a request.
    request: String,
    /// The file with what each connection says once, before.
    hello: Option<String>,
    /// How long each server is loaded before anything counts.
    warm_up_seconds: f64,
    round_seconds: f64,
    rounds: Vec<Round>,
}

/// One round.
#[derive(Clone, Copy, serde::Deserialize)]
struct Round {
    /// The server, by index.
    server: usize,
    /// What each of its `switches` is set to before.
    set: Option<u8>,
}

#[derive(serde::Deserialize)]
struct Server {
    /// `ADDRESS:PORT`.
    address: String,
    /// The processes whose CPU time counts.
    pids: Vec<i32>,
    /// Bytes in the memory of processes: process and address of each.
    switches: Vec<(i32, u64)>,
}

/// What one round showed.
#[derive(serde::Serialize)]
struct Seen {
    server: usize,
    answers: usize,
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
    /// Of the server, user and system, for each answer.
    cpu_us: f64,
    segments_per_answer: f64,
}

fn main() {
    let order: Order = serde_json::from_reader(std::io::stdin()).expect("an order, see above");
    let warm_up = Duration::from_secs_f64(order.warm_up_seconds);
    let round = Duration::from_secs_f64(order.round_seconds);
    let loads: Vec<_> = (0..order.servers.len())
        .map(|index| Load::connect(&order, index))
        .collect();
    for load in &loads {
        load.round(warm_up);
    }
    for &Round { server, set } in &order.rounds {
        if let Some(value) = set {
            order.servers[server].switch(value);
        }
        let seen = loads[server].round(round);
        println!("{}", serde_json::to_string(&seen).expect("plain numbers"));
    }
}

/// The connections to one server, each with a thread of its own that waits for the next round.
struct Load<'a> {
    index: usize,
    server: &'a Server,
    rounds: Vec<Sender<Instant>>,
    shares: Receiver<Share>,
}

/// What one connection saw of a round.
struct Share {
    latencies_us: Vec<f64>,
    segments: u32,
    ended: Instant,
}

impl<'a> Load<'a> {
    fn connect(order: &'a Order, index: usize) -> Self {
        let read = |path: &String| std::fs::read(path).expect("a readable file");
        let (request, hello) = (read(&order.request), order.hello.as_ref().map(read));
        let server = &order.servers[index];
        let (share, shares) = channel();
        let rounds = (0..order.connections)
            .map(|_| {
                let (round, rounds) = channel();
                let (request, hello, share) = (request.clone(), hello.clone(), share.clone());
                let address = server.address.clone();
                thread::spawn(move || {
                    let connection = Connection::open(&address, request, hello.as_deref());
                    connection.live(&rounds, &share);
                });
                round
            })
            .collect();
        Self {
            index,
            server,
            rounds,
            shares,
        }
    }

    /// Loads the server for so long. The last answers may come later; they count, and so does
    /// their time.
    fn round(&self, duration: Duration) -> Seen {
        let cpu_before = self.server.cpu_us();
        let begun = now();
        for round in &self.rounds {
            round.send(begun + duration).expect("a connection failed");
        }
        let shares: Vec<_> = self
            .rounds
            .iter()
            .map(|_| self.shares.recv().expect("a connection failed"))
            .collect();
        let cpu_us = self.server.cpu_us() - cpu_before;
        let ended = shares.iter().map(|share| share.ended).max();
        let seconds = ended.map_or(0.0, |ended| (ended - begun).as_secs_f64());
        let segments: u32 = shares.iter().map(|share| share.segments).sum();
        let mut latencies: Vec<f64> = shares.into_iter().flat_map(|s| s.latencies_us).collect();
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
        let answers = latencies.len();
        Seen {
            server: self.index,
            answers,
            per_second: answers as f64 / seconds,
            p50_us: at(0.5),
            p99_us: at(0.99),
            cpu_us: cpu_us / answers as f64,
            segments_per_answer: f64::from(segments) / answers as f64,
        }
    }
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    fn open(address: &str, request: Vec<u8>, hello: Option<&[u8]>) -> Self {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("an option");
        if let Some(hello) = hello {
            stream.write_all(hello).expect("the server reads");
            until_quiet(&mut stream);
        }
        stream.write_all(&request).expect("the server reads");
        let answer_bytes = until_quiet(&mut stream);
        assert!(answer_bytes > 0, "the server did not answer");
        Self {
            stream,
            request,
            answer: vec![0; answer_bytes],
        }
    }

    fn live(mut self, rounds: &Receiver<Instant>, share: &Sender<Share>) {
        while let Ok(deadline) = rounds.recv() {
            let segments_before = segments_received(&self.stream);
            let mut latencies_us = Vec::new();
            let mut asked = now();
            loop {
                self.ask();
                let answered = now();
                latencies_us.push((answered - asked).as_nanos() as f64 / 1e3);
                asked = answered;
                if answered >= deadline {
                    break;
                }
            }
            let segments = segments_received(&self.stream) - segments_before;
            let seen = Share {
                latencies_us,
                segments,
                ended: asked,
            };
            if share.send(seen).is_err() {
                return;
            }
        }
    }

    fn ask(&mut self) {
        self.stream
            .write_all(&self.request)
            .expect("the server reads");
        self.stream
            .read_exact(&mut self.answer)
            .expect("answers are of one length");
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

impl Server {
    fn switch(&self, value: u8) {
        for (pid, address) in &self.switches {
            std::fs::File::options()
                .write(true)
                .open(format!("/proc/{pid}/mem"))
                .and_then(|memory| memory.write_all_at(&[value], *address))
                .expect("root writes to any process");
        }
    }

    /// What its processes have used so far, those of their threads that ended included. To the
    /// nanosecond, where `/proc` counts in hundredths of a second.
    fn cpu_us(&self) -> f64 {
        let used = self.pids.iter().map(|&pid| {
            let mut time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            // The clock of another process, as `clock_getcpuclockid` makes it up.
            let clock = (!pid << 3) | CPUCLOCK_SCHED;
            // SAFETY: writes into a local.
            let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
            assert_eq!(failed, 0, "the process {pid} has ended");
            time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
        });
        used.sum()
    }
}

fn segments_received(stream: &TcpStream) -> u32 {
    tcp_info(stream).expect("a TCP connection").data_segs_in
}

#[allow(
    clippy::disallowed_methods,
    reason = "a load generator measures real time"
)]
fn now() -> Instant {
    Instant::now()
}

/// Kind of process clock: the scheduler's account (`CPUCLOCK_SCHED` of linux/posix-timers.h).
const CPUCLOCK_SCHED: i32 = 2;
