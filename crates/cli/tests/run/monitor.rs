//! Go's own monitor as a tripwire: what is asked now and then is held without a watchdog, and what is held for too long
//! is found all the same.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::built::{self, Built};
use crate::grafted::{data_segments_in, keeper_of, started};
use crate::programs::{once_it_is_quiet, tinygram};

/// Builds the server that computes between its first write and the others.
fn in_go() -> Option<Built> {
    built::in_go("../../lab/servers/late/main.go")
}

struct Asking {
    stream: TcpStream,
    lines: std::io::Lines<BufReader<TcpStream>>,
}

impl Asking {
    fn of(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        Self { stream, lines }
    }

    /// Asks for an answer of eight pieces with so much work behind the first; returns how long the first took.
    #[allow(
        clippy::disallowed_methods,
        reason = "a program of the real world is measured"
    )]
    fn ask(&mut self, work_us: u32) -> Duration {
        let began = Instant::now();
        writeln!(self.stream, "{work_us}").unwrap();
        self.lines.next().unwrap().unwrap();
        let took = began.elapsed();
        for _ in 0..7 {
            assert_eq!(self.lines.next().unwrap().unwrap(), "rest");
        }
        took
    }
}

/// How often the process got a processor.
fn turns(pid: i32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of_one = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap();
        let turns = text.split_ascii_whitespace().nth(2).unwrap();
        turns.parse::<u64>().unwrap()
    };
    tasks.flatten().map(of_one).sum()
}

#[test]
fn a_request_now_and_then_leaves_in_one_segment_without_the_watchdog() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    once_it_is_quiet(|| {
        let mut command = tinygram();
        command.args(["run", "--"]).arg(&program);
        let (_server, address) = started(command);
        let keeper = keeper_of(program.to_str().unwrap()).expect("a keeper");
        let mut asking = Asking::of(&address);
        for _ in 0..50 {
            asking.ask(0);
        }
        let (before, segments) = (turns(keeper), data_segments_in(&asking.stream));
        for _ in 0..REQUESTS {
            std::thread::sleep(Duration::from_millis(5));
            asking.ask(0);
        }
        // The keeper of the try before may have been found, and ended since.
        let Some(woken) = turns(keeper).checked_sub(before) else {
            return Err("its keeper has ended".into());
        };
        let segments = data_segments_in(&asking.stream) - segments;
        let (most_turns, most_segments) = (REQUESTS / 2, REQUESTS + REQUESTS / 2);
        if woken < most_turns.into() && segments < most_segments {
            Ok(())
        } else {
            Err(format!(
                "of {REQUESTS}: {woken} times awake, {segments} segments"
            ))
        }
    });
}

const REQUESTS: u32 = 200;

/// Go itself preempts a goroutine after 10 ms, and what it holds leaves then. Sooner, nobody but the watchdog sends it,
/// which the monitor has to wake.
#[test]
fn what_is_held_while_a_goroutine_computes_is_found() {
    let Some((_folder, program)) = in_go() else {
        return;
    };
    let mut command = tinygram();
    command.args(["run", "--"]).arg(&program);
    let (_server, address) = started(command);
    let mut seen = Vec::new();
    for _ in 0..20 {
        let mut asking = Asking::of(&address);
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(3));
            asking.ask(0);
        }
        std::thread::sleep(Duration::from_millis(5));
        let took = asking.ask(100_000);
        seen.push(took);
        // What is not held comes at once.
        if (Duration::from_micros(700)..Duration::from_millis(6)).contains(&took) {
            return;
        }
    }
    panic!("{seen:?}");
}
