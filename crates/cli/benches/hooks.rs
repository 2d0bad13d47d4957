//! What a hook costs, in nanoseconds a call: this program measures itself alone and under
//! `tinygram run`, in turn, and shows the difference of the medians.
//!
//! `cargo bench -p tinygram --bench hooks`. Exits with 1 if a limit is passed.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// One measurement: its name, what it may cost at most, and how it is taken.
struct Measure {
    name: &'static str,
    limit_ns: Option<f64>,
    take: fn() -> f64,
}

const MEASURES: [Measure; 5] = [
    Measure {
        name: "write to /dev/null, passed through",
        limit_ns: Some(10.0),
        take: write_elsewhere,
    },
    Measure {
        name: "read from /dev/zero, passed through",
        limit_ns: Some(10.0),
        take: read_elsewhere,
    },
    Measure {
        name: "poll with timeout 0, nothing held",
        limit_ns: Some(10.0),
        take: poll_nothing,
    },
    Measure {
        name: "TCP write, passed by the predictor",
        limit_ns: None,
        take: predicted_write,
    },
    Measure {
        name: "a lone TCP write held, with its flush",
        limit_ns: Some(400.0),
        take: lone_write,
    },
];
const ROUNDS: usize = 15;

fn main() -> ExitCode {
    if let Ok(index) = std::env::var(CHILD) {
        let measure = &MEASURES[index.parse::<usize>().expect("an index")];
        println!("{}", (measure.take)());
        return ExitCode::SUCCESS;
    }
    println!(
        "{:38} {:>9} {:>9} {:>9} {:>7}",
        "ns a call, medians", "plain", "hooked", "cost", "limit"
    );
    let mut kept = true;
    for (index, measure) in MEASURES.iter().enumerate() {
        // In turn, so that a noisy minute of the machine hits both.
        let pairs: Vec<_> = (0..ROUNDS)
            .map(|_| (child(index, false), child(index, true)))
            .collect();
        let plain = median(pairs.iter().map(|(plain, _)| *plain));
        let hooked = median(pairs.iter().map(|(_, hooked)| *hooked));
        let cost = median(pairs.iter().map(|(plain, hooked)| hooked - plain));
        kept &= measure.limit_ns.is_none_or(|limit| cost < limit);
        let limit = measure
            .limit_ns
            .map_or("-".to_owned(), |limit| format!("{limit:.0}"));
        println!(
            "{:38} {plain:9.1} {hooked:9.1} {cost:9.1} {limit:>7}",
            measure.name
        );
    }
    let plain = median((0..ROUNDS).map(|_| converse(Sending::Plainly)));
    let by_hand = median((0..ROUNDS).map(|_| converse(Sending::HeldByHand)));
    println!(
        "of the last, the kernel's own share (MSG_MORE and TCP_NODELAY by hand): {:.1}",
        by_hand - plain
    );
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn child(index: usize, hooked: bool) -> f64 {
    let this = std::env::current_exe().expect("our own program");
    let mut command = if hooked {
        let mut run = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        run.args(["run", "--"]).arg(this);
        run
    } else {
        // Both have Nagle off: what is measured is the hold, not the stall it cures.
        Command::new(this)
    };
    let output = command
        .env(CHILD, index.to_string())
        .output()
        .expect("the child runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim()
        .parse()
        .unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn per_call(calls: u32, mut call: impl FnMut()) -> f64 {
    #[allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    let begun = Instant::now();
    for _ in 0..calls {
        call();
    }
    begun.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn write_elsewhere() -> f64 {
    let null = std::fs::File::create("/dev/null").expect("/dev/null");
    // SAFETY: one byte of our own.
    per_call(3_000_000, || unsafe {
        libc::write(null.as_raw_fd(), [0_u8].as_ptr().cast(), 1);
    })
}

fn read_elsewhere() -> f64 {
    let zero = std::fs::File::open("/dev/zero").expect("/dev/zero");
    let mut byte = [0_u8];
    // SAFETY: as above.
    per_call(3_000_000, || unsafe {
        libc::read(zero.as_raw_fd(), byte.as_mut_ptr().cast(), 1);
    })
}

fn poll_nothing() -> f64 {
    // SAFETY: no descriptors.
    per_call(3_000_000, || unsafe {
        libc::poll(std::ptr::null_mut(), 0, 0);
    })
}

/// How [`converse`] writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Plainly,
    /// With a second write now and then, so that the predictor goes on holding.
    WithCompany,
    /// What the hooks do, done by the program itself.
    HeldByHand,
}

fn predicted_write() -> f64 {
    converse(Sending::Plainly)
}

fn lone_write() -> f64 {
    converse(Sending::WithCompany)
}

/// Two event-driven programs in one: each writes, finds nothing to read, and then the other reads.
/// The median time of an exchange, per write; whole exchanges, because what one call saves (an
/// acknowledgment handled) another may spend.
fn converse(sending: Sending) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    let (server, _) = listener.accept().expect("loopback");
    for end in [&client, &server] {
        end.set_nodelay(true).expect("an option");
        end.set_nonblocking(true).expect("a flag");
    }
    let mut times = Vec::new();
    for round in 0..30_000 {
        let took = per_call(1, || {
            turn(&client, &server, sending);
            turn(&server, &client, sending);
        });
        if round > 100 {
            times.push(took / 2.0);
        }
        if round % 7 == 6 && sending == Sending::WithCompany {
            for (from, to) in [(&client, &server), (&server, &client)] {
                write(from, 0);
                turn(from, to, sending);
            }
        }
    }
    median(times.into_iter())
}

fn turn(from: &TcpStream, to: &TcpStream, sending: Sending) {
    if sending == Sending::HeldByHand {
        write(from, libc::MSG_MORE);
        from.set_nodelay(true).expect("an option");
    } else {
        write(from, 0);
    }
    read(from);
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

const CHILD: &str = "TINYGRAM_BENCH_CHILD";
