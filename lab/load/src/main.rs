//! A load for any request-and-answer protocol over TCP, for lab/run-table and lab/load-live.
//!
//! Reads one JSON document ([`Order`]) from standard input: several servers, and in which order
//! they are loaded, one round at a time, over connections that stand throughout. So rounds can be
//! short, and those of two servers near enough in time to be compared in pairs. Each connection
//! writes the request over and over, each time after the whole answer has come; how long an answer
//! is, is learned from the first one. Writes one JSON object ([`Seen`]) a round.
//!
//! A round with a rate is an open loop: requests are due at the times of a Poisson process on each
//! connection, whether or not the one before is answered, and a latency counts from when its request
//! was due. What is not answered so long after the round as the round was long counts with the time
//! until then.

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
    /// Requests a second of all connections together; a closed loop if absent.
    rate: Option<f64>,
    /// What the arrivals of an open loop are drawn from: rounds with the same number have the same.
    #[serde(default)]
    seed: u64,
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
    /// In the time of the round.
    answers: usize,
    /// Requests that were due and not answered until the end.
    unanswered: usize,
    per_second: f64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    /// Of the server, user and system, for each answer.
    cpu_us: f64,
    segments_per_answer: f64,
}

fn main() {
    // Without one of its connections a round never ends.
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |why| {
        say(why);
        std::process::exit(101);
    }));
    let order: Order = serde_json::from_reader(std::io::stdin()).expect("an order, see above");
    let warm_up = Duration::from_secs_f64(order.warm_up_seconds);
    let round = Duration::from_secs_f64(order.round_seconds);
    let loads: Vec<_> = (0..order.servers.len())
        .map(|index| Load::connect(&order, index))
        .collect();
    let closed = Round {
        server: 0,
        set: None,
        rate: None,
        seed: 0,
    };
    for load in &loads {
        load.round(warm_up, closed);
    }
    for &this in &order.rounds {
        let server = this.server;
        if let Some(value) = this.set {
            order.servers[server].switch(value);
        }
        let seen = loads[server].round(round, this);
        println!("{}", serde_json::to_string(&seen).expect("plain numbers"));
    }
}

/// The connections to one server, each with a thread of its own that waits for the next round.
struct Load<'a> {
    index: usize,
    server: &'a Server,
    rounds: Vec<Sender<Task>>,
    shares: Receiver<Share>,
}

/// What one connection is to do in a round.
#[derive(Clone, Copy)]
struct Task {
    begins: Instant,
    ends: Instant,
    /// The mean time between two requests of an open loop, in seconds.
    mean_gap: Option<f64>,
    seed: u64,
}

/// What one connection saw of a round.
struct Share {
    /// Of all requests; those that were not answered come last.
    latencies_us: Vec<f64>,
    unanswered: usize,
    /// How many were answered before the end of the round, and how many later.
    in_time: usize,
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

    /// Loads the server for so long. In a closed loop the last answers may come later; they count, and so does their
    /// time. In an open loop the answers of the round's time are counted, and all requests' latencies.
    fn round(&self, duration: Duration, round: Round) -> Seen {
        let cpu_before = self.server.cpu_us();
        let begun = now();
        let connections = self.rounds.len();
        for (at, connection) in self.rounds.iter().enumerate() {
            let task = Task {
                begins: begun,
                ends: begun + duration,
                mean_gap: round.rate.map(|rate| connections as f64 / rate),
                seed: round.seed.wrapping_mul(1000).wrapping_add(at as u64),
            };
            connection.send(task).expect("a connection failed");
        }
        let shares: Vec<_> = self
            .rounds
            .iter()
            .map(|_| self.shares.recv().expect("a connection failed"))
            .collect();
        let cpu_us = self.server.cpu_us() - cpu_before;
        let ended = match round.rate {
            Some(_) => Some(begun + duration),
            None => shares.iter().map(|share| share.ended).max(),
        };
        let seconds = ended.map_or(0.0, |ended| (ended - begun).as_secs_f64());
        let segments: u32 = shares.iter().map(|share| share.segments).sum();
        let unanswered: usize = shares.iter().map(|share| share.unanswered).sum();
        let answers: usize = shares.iter().map(|share| share.in_time).sum();
        let mut latencies: Vec<f64> = shares.into_iter().flat_map(|s| s.latencies_us).collect();
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| match latencies.len() {
            0 => 0.0,
            count => latencies[((count - 1) as f64 * share) as usize],
        };
        // What was sent and worked after the round's end was for the answers of that time.
        let all = (latencies.len() - unanswered).max(1) as f64;
        Seen {
            server: self.index,
            answers,
            unanswered,
            per_second: answers as f64 / seconds,
            mean_us: latencies.iter().sum::<f64>() / latencies.len().max(1) as f64,
            p50_us: at(0.5),
            p99_us: at(0.99),
            cpu_us: cpu_us / all,
            segments_per_answer: f64::from(segments) / all,
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

    fn live(mut self, rounds: &Receiver<Task>, share: &Sender<Share>) {
        // SAFETY: sets a number of this thread: its timers are not late on purpose.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
        while let Ok(task) = rounds.recv() {
            let segments_before = segments_received(&self.stream);
            let mut seen = match task.mean_gap {
                Some(mean_gap) => self.open_loop(&task, mean_gap),
                None => self.closed_loop(&task),
            };
            seen.segments = segments_received(&self.stream) - segments_before;
            if share.send(seen).is_err() {
                return;
            }
        }
    }

    fn closed_loop(&mut self, task: &Task) -> Share {
        let mut latencies_us = Vec::new();
        let mut asked = now();
        loop {
            self.ask();
            let answered = now();
            latencies_us.push(microseconds(answered - asked));
            asked = answered;
            if answered >= task.ends {
                break;
            }
        }
        Share {
            in_time: latencies_us.len(),
            latencies_us,
            unanswered: 0,
            segments: 0,
            ended: asked,
        }
    }

    fn open_loop(&mut self, task: &Task, mean_gap: f64) -> Share {
        let gives_up = task.ends + (task.ends - task.begins);
        let mut dice = fastrand::Rng::with_seed(task.seed);
        let mut due = task.begins;
        let mut share = Share {
            latencies_us: Vec::new(),
            unanswered: 0,
            in_time: 0,
            segments: 0,
            ended: task.begins,
        };
        loop {
            due += Duration::from_secs_f64(-(1.0 - dice.f64()).ln() * mean_gap);
            if due >= task.ends {
                return share;
            }
            let wait = due.saturating_duration_since(now());
            if !wait.is_zero() {
                thread::sleep(wait);
            }
            if now() >= gives_up {
                share.unanswered += 1;
                share.latencies_us.push(microseconds(gives_up - due));
                continue;
            }
            self.ask();
            share.ended = now();
            share.in_time += usize::from(share.ended < task.ends);
            share.latencies_us.push(microseconds(share.ended - due));
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

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
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
