//! Hostile use of `tinygram run`: whatever a program does to its sockets, nothing is lost, repeated
//! or reordered, and nothing waits for the kernel's retransmission timer.
//!
//! The programs are scenarios in `hostile.c`; `sink.rs` checks what arrives.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod attached;
mod built;
mod gates;
mod glibc;
mod grafted;
mod holds;
mod life;
mod monitor;
mod musl;
mod programs;
mod reach;
mod sink;
mod sites;
mod stacks;
mod starts;
mod unprivileged;
mod untraceable;
mod vforked;

use std::process::Command;
use std::time::Duration;

use crate::programs::{best_of_three, compile, counts_of, hostile, hostile_counts, text, tinygram};
use crate::sink::Sink;

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn flush_on_block_survives_hostile_use() {
    endure(&["--policy", "flush-on-block"]);
}

/// Many scenarios are too short to show a habit; with `--eager` everything is held in all of them,
/// from the first write on.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn eager_flush_on_block_survives_hostile_use() {
    endure(&["--policy", "flush-on-block", "--eager"]);
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn cork_until_block_survives_hostile_use() {
    endure(&["--policy", "cork-until-block"]);
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn nodelay_survives_hostile_use() {
    endure(&["--policy", "nodelay"]);
}

/// Messages are written and awaited in every way at once, at random.
#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn twenty_thousand_messages_arrive_whole_and_in_order() {
    messages_arrive_whole_and_in_order("640");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_hundred_thousand_messages_arrive_whole_and_in_order() {
    messages_arrive_whole_and_in_order("3200");
}

fn messages_arrive_whole_and_in_order(of_each_connection: &str) {
    for options in [&[][..], &["--eager"]] {
        let sink = Sink::start();
        // Two processes, four threads, four connections each.
        let counts = counts_of("stress", &[of_each_connection], options, &sink);
        let peers = counts["peers"].as_array().unwrap();
        let longest = peers
            .iter()
            .map(|peer| peer["longest_hold_us"].as_f64().unwrap());
        assert!(longest.fold(0.0, f64::max) < 150_000.0, "{counts:#}");
    }
}

/// With a clock that another library stops (libfaketime), nothing is held back.
#[test]
fn a_stopped_clock_holds_nothing_back() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("stopped.c");
    std::fs::write(
        &source,
        "#include <time.h>\nint clock_gettime(clockid_t c, struct timespec *t) { (void)c; t->tv_sec = 1; t->tv_nsec = 0; return 0; }\n",
    )
    .unwrap();
    let stopped = folder.path().join("stopped.so");
    if !compile(&source, &stopped, &["-shared", "-fPIC"]) {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    best_of_three(|| {
        let sink = Sink::start();
        #[expect(clippy::disallowed_methods, reason = "how long a real program holds")]
        let begun = std::time::Instant::now();
        let output = tinygram()
            .env("LD_PRELOAD", &stopped)
            .args(["run", "--eager", "--"])
            .arg(hostile().unwrap())
            .args(["spins", &sink.port.to_string()])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        sink.verdict("spins");
        // With the kernel's own bound of 200 ms for each frame it would take many times as long.
        let took = begun.elapsed();
        if took < Duration::from_secs(8) {
            Ok(())
        } else {
            Err(format!("{took:?}"))
        }
    });
}

/// Runs every scenario with these options.
fn endure(options: &[&str]) {
    let Some(program) = hostile() else {
        eprintln!("skipped: there is no C compiler");
        return;
    };
    let list = Command::new(program).output().unwrap();
    let scenarios: Vec<_> = String::from_utf8(list.stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(scenarios.len() > 15);
    for scenario in &scenarios {
        best_of_three(|| {
            let sink = Sink::start();
            let counts = hostile_counts(scenario, options, &sink);
            let peers = counts["peers"].as_array().unwrap();
            let longest = peers
                .iter()
                .map(|peer| peer["longest_hold_us"].as_f64().unwrap());
            let longest_us = longest.fold(0.0, f64::max);
            // If the library failed, the kernel's own bound would be at least 200 ms.
            if longest_us < 150_000.0 {
                return Ok(());
            }
            Err(format!("{options:?}, {scenario}: held for {longest_us} us"))
        });
    }
}
