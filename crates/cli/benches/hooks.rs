//! Measures the cost of a hook: the overhead of a call, in nanoseconds, over the same program
//! without the library.
//!
//! `cargo bench -p tinygram --bench hooks`. Exits with 1 if a limit is exceeded.
//!
//! This program runs itself several times: plainly, under `tinygram run`, and for the held write
//! also doing by hand what the hooks do. All of them stay alive and are measured in turn, for some
//! milliseconds each, in a changing order; what counts is the difference *within* a round. A
//! machine that is faster in one second than in the next (virtual ones are, by a fifth and more)
//! changes the absolute figures, which are also shown, but not the differences.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Instant;

/// A measurement: its name, the most it may cost, and its contenders. The others are compared with
/// the first; the last runs under the library.
struct Measure {
    name: &'static str,
    limit_ns: Option<f64>,
    contenders: &'static [Contender],
}

/// One way to take a measurement.
struct Contender {
    name: &'static str,
    hooked: bool,
    begin: fn() -> Slice,
}

/// Measures for a few milliseconds; returns the median time of a call.
type Slice = Box<dyn FnMut() -> f64>;

const fn plain(begin: fn() -> Slice) -> Contender {
    contender("plain", false, begin)
}

const fn hooked(begin: fn() -> Slice) -> Contender {
    contender("hooked", true, begin)
}

const fn contender(name: &'static str, hooked: bool, begin: fn() -> Slice) -> Contender {
    Contender {
        name,
        hooked,
        begin,
    }
}

const MEASURES: [Measure; 6] = [
    Measure {
        name: "write to /dev/null, passed through",
        limit_ns: Some(10.0),
        contenders: &[plain(write_elsewhere), hooked(write_elsewhere)],
    },
    Measure {
        name: "read from /dev/zero, passed through",
        limit_ns: Some(10.0),
        contenders: &[plain(read_elsewhere), hooked(read_elsewhere)],
    },
    Measure {
        name: "poll with timeout 0, nothing held",
        limit_ns: Some(10.0),
        contenders: &[plain(poll_nothing), hooked(poll_nothing)],
    },
    Measure {
        name: "a TCP write and two reads, passed by the predictor",
        limit_ns: None,
        contenders: &[plain(alone), hooked(alone)],
    },
    Measure {
        name: "the same, the write held and flushed alone",
        limit_ns: Some(400.0),
        contenders: &[
            plain(with_company),
            contender("by hand", false, by_hand),
            contender("by hand, beside an idle thread", false, by_hand_in_two),
            hooked(with_company),
        ],
    },
    Measure {
        name: "two TCP writes and two reads, the second write taking along the first",
        limit_ns: None,
        contenders: &[
            plain(in_two),
            contender("by hand", false, in_two_by_hand),
            hooked(in_two),
        ],
    },
];
const ROUNDS: usize = 300;
const CHILD: &str = "TINYGRAM_BENCH_CHILD";

fn main() -> ExitCode {
    if let Ok(place) = std::env::var(CHILD) {
        let (measure, contender) = place.split_once('/').expect("two numbers");
        let [measure, contender] = [measure, contender].map(|n| n.parse::<usize>().expect("one"));
        serve(&MEASURES[measure].contenders[contender]);
        return ExitCode::SUCCESS;
    }
    println!("ns a call: median, and the median of the differences within rounds [95 % interval]");
    let mut kept = true;
    for (index, measure) in MEASURES.iter().enumerate() {
        let limit = measure.limit_ns.map_or(String::new(), |limit| {
            format!(" (overhead below {limit:.0})")
        });
        println!("{}{limit}", measure.name);
        let took = take(index, measure);
        for (contender, times) in measure.contenders.iter().zip(&took) {
            let over: Vec<_> = times.iter().zip(&took[0]).map(|(a, b)| a - b).collect();
            let [low, high] = interval(&over);
            println!(
                "    {:32} {:9.1} {:+9.1} [{low:+.1}, {high:+.1}]",
                contender.name,
                median(times),
                median(&over)
            );
            if contender.hooked {
                kept &= measure.limit_ns.is_none_or(|limit| median(&over) < limit);
            }
        }
    }
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the times of each contender, one per round.
fn take(index: usize, measure: &Measure) -> Vec<Vec<f64>> {
    let mut runs: Vec<_> = (0..measure.contenders.len())
        .map(|contender| Run::start(index, contender, measure.contenders[contender].hooked))
        .collect();
    let count = runs.len();
    let mut took = vec![Vec::new(); count];
    for round in 0..ROUNDS {
        // Each contender begins equally often, and follows each neighbour equally often.
        for turn in 0..count {
            let turn = if round % 2 == 0 {
                turn
            } else {
                count - 1 - turn
            };
            let who = (round / 2 + turn) % count;
            took[who].push(runs[who].slice());
        }
    }
    for mut run in runs {
        drop(run.ask);
        run.child.wait().expect("our own child");
    }
    took
}

/// A contender in its own process.
struct Run {
    child: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Run {
    fn start(measure: usize, contender: usize, hooked: bool) -> Self {
        let this = std::env::current_exe().expect("our own program");
        let mut command = if hooked {
            let mut run = Command::new(env!("CARGO_BIN_EXE_tinygram"));
            run.args(["run", "--"]).arg(this);
            run
        } else {
            Command::new(this)
        };
        let mut child = command
            .env(CHILD, format!("{measure}/{contender}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the child runs");
        let ask = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Self {
            child,
            ask,
            answers,
        }
    }

    fn slice(&mut self) -> f64 {
        self.ask.write_all(b"\n").expect("the child lives");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the child lives");
        line.trim().parse().expect("a number")
    }
}

/// Runs a child: measures a slice for every line that it reads.
fn serve(contender: &Contender) {
    let mut slice = (contender.begin)();
    let mut out = std::io::stdout();
    for _ in std::io::stdin().lines() {
        writeln!(out, "{}", slice()).expect("a pipe");
    }
}

fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    sorted[sorted.len() / 2]
}

/// Returns the confidence interval of the median, by the order statistics: exact for any
/// distribution.
fn interval(values: &[f64]) -> [f64; 2] {
    let sorted = sorted(values);
    let count = sorted.len() as f64;
    let reach = 0.98 * count.sqrt();
    [count / 2.0 - reach, count / 2.0 + reach].map(|rank| sorted[rank as usize])
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns a slice of this many calls, timed together, for calls that all take the same time.
fn together(calls: u32, mut call: impl FnMut() + 'static) -> Slice {
    Box::new(move || {
        let begun = now();
        for _ in 0..calls {
            call();
        }
        begun.elapsed().as_nanos() as f64 / f64::from(calls)
    })
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    Instant::now()
}

fn write_elsewhere() -> Slice {
    let null = std::fs::File::create("/dev/null").expect("/dev/null");
    // SAFETY: one byte of our own.
    together(20_000, move || unsafe {
        libc::write(null.as_raw_fd(), [0_u8].as_ptr().cast(), 1);
    })
}

fn read_elsewhere() -> Slice {
    let zero = std::fs::File::open("/dev/zero").expect("/dev/zero");
    // SAFETY: as above.
    together(20_000, move || unsafe {
        libc::read(zero.as_raw_fd(), [0_u8].as_mut_ptr().cast(), 1);
    })
}

fn poll_nothing() -> Slice {
    // SAFETY: no descriptors.
    together(20_000, || unsafe {
        libc::poll(std::ptr::null_mut(), 0, 0);
    })
}

/// How a conversation writes its answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Alone,
    /// In one write, followed by an exchange in two writes that is not timed, so that the predictor
    /// continues to hold: what the two writes save pays for the flush of the one.
    WithCompany,
    /// The same, with the program itself doing what the hooks do.
    ByHand,
    /// Always in two writes.
    InTwo,
    /// In two writes, the first with `MSG_MORE`.
    InTwoByHand,
}

impl Sending {
    /// Returns how the exchange after each timed one is made.
    fn company(self) -> Option<Self> {
        match self {
            Self::WithCompany => Some(Self::InTwo),
            Self::ByHand => Some(Self::InTwoByHand),
            Self::Alone | Self::InTwo | Self::InTwoByHand => None,
        }
    }
}

fn alone() -> Slice {
    converse(Sending::Alone)
}

fn with_company() -> Slice {
    converse(Sending::WithCompany)
}

fn by_hand() -> Slice {
    converse(Sending::ByHand)
}

fn by_hand_in_two() -> Slice {
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
    converse(Sending::ByHand)
}

fn in_two() -> Slice {
    converse(Sending::InTwo)
}

fn in_two_by_hand() -> Slice {
    converse(Sending::InTwoByHand)
}

/// Runs two event-driven programs in one: each writes, finds nothing to read, and then the other
/// reads. Returns the median time of an exchange per turn. Whole exchanges are timed, because what
/// one call saves (handling an acknowledgment) another may spend. Both ends have Nagle off in every
/// contender: the hold is measured, not the stall that it cures.
fn converse(sending: Sending) -> Slice {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    let (server, _) = listener.accept().expect("loopback");
    for end in [&client, &server] {
        end.set_nodelay(true).expect("an option");
        end.set_nonblocking(true).expect("a flag");
    }
    Box::new(move || {
        let mut times = Vec::new();
        for round in 0..1_000 {
            let begun = now();
            turn(&client, &server, sending);
            turn(&server, &client, sending);
            // The first exchanges of a slice wake the watchdog, if there is one.
            if round > 100 {
                times.push(begun.elapsed().as_nanos() as f64 / 2.0);
            }
            if let Some(company) = sending.company() {
                turn(&client, &server, company);
                turn(&server, &client, company);
            }
        }
        median(&times)
    })
}

fn turn(from: &TcpStream, to: &TcpStream, sending: Sending) {
    match sending {
        Sending::Alone | Sending::WithCompany => write(from, 0),
        Sending::ByHand => write(from, libc::MSG_MORE),
        Sending::InTwo => {
            write(from, 0);
            write(from, 0);
        }
        Sending::InTwoByHand => {
            write(from, libc::MSG_MORE);
            write(from, 0);
        }
    }
    read(from);
    if sending == Sending::ByHand {
        from.set_nodelay(true).expect("an option");
    }
    read(to);
}

fn write(stream: &TcpStream, flags: libc::c_int) {
    // SAFETY: bytes of our own.
    unsafe { libc::send(stream.as_raw_fd(), [7_u8; 100].as_ptr().cast(), 100, flags) };
}

fn read(stream: &TcpStream) {
    let mut buffer = [0_u8; 4096];
    // SAFETY: a buffer of our own.
    unsafe {
        libc::recv(
            stream.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    };
}
