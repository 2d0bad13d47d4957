//! Moldeklev & Gunningberg's buffers: which pairs of a send and a receive buffer stall a transfer in writes of 8192 octets.

use std::time::Duration;

use tinygram_naglemark_live::{Piece, Talk};
use tinygram_papers::Standard;
use tinygram_papers::experiment::{Effort, Outcome};
use tinygram_papers::moldeklev::hosts::ATM_MSS;
use tinygram_papers::moldeklev::published::{SIZES, TABLE_1, TABLE_2B, Table};
use tinygram_papers::value::PaperValue;

use super::{Here, SILENCE, in_kernel, ours, text};

/// "Write and read 8192 octets" (section 3).
const WRITE: usize = 8192;
/// How many writes are a transfer, and how many more come before it; Linux acknowledges at once while a connection is new.
const WRITES: usize = 16;
const WARM_UP: usize = 8;
/// "40" octets of headers around the paper's MSS, and none for timestamps.
const MTU: u16 = ATM_MSS + 40;
/// A cell of the paper's table that is below this many Mbit/s deadlocks: each of its flights waits for a tick.
const DEADLOCKED: f64 = 1.0;

pub(in super::super) fn run(effort: &Effort) -> Outcome {
    let mut here = Here::over(None, Duration::ZERO, MTU, effort.seed);
    for (table, policy, printed) in [
        ("1", "nagle", &TABLE_1),
        ("2, lower values", "off", &TABLE_2B),
    ] {
        measure(&mut here, table, policy, printed);
    }
    let parameters = vec![
        ours(
            "link",
            "no rate, no delay, an MTU of 9244 octets",
            "the segment of the paper's ATM network, less 12 octets of timestamps",
        ),
        ours(
            "buffers",
            "SO_SNDBUF and SO_RCVBUF of the paper's sizes",
            "Linux doubles both, and counts its own memory in them",
        ),
        ours(
            "transfer",
            format!("{WRITES} writes of {WRITE} octets, behind {WARM_UP} others"),
            "the paper's was 16 MiB",
        ),
        ours(
            "a stall",
            "nothing came for more than 25 ms, and a delayed acknowledgment left",
            "Linux delays an acknowledgment for 40 ms at least",
        ),
    ];
    let notes = vec![
        "Linux offers half of its doubled receive buffer, acknowledges when two segments came or the reader moved the window by two, \
         and wakes a writer when a third of the buffer is free. So a pair of the paper's sizes is not the paper's pair, and few of \
         its rules (35 % of the buffer, clusters of 1 KiB) are Linux's: which pairs stall here says what is left of the deadlocks."
            .into(),
    ];
    here.outcome(parameters, notes)
}

fn measure(here: &mut Here, table: &str, policy: &'static str, printed: &Table) {
    let (mut both, mut paper_only, mut here_only) = (0, 0, 0);
    let mut lacking = None;
    for (send, line) in SIZES.iter().zip(printed) {
        for (receive, mbits) in SIZES.iter().zip(line) {
            let heard = here.talk(&talk(policy, *send, *receive));
            let stalls = heard.map(|heard| heard[1].stalls(SILENCE));
            match (&stalls, *mbits < DEADLOCKED) {
                (Ok(0), true) => paper_only += 1,
                (Ok(0), false) => {}
                (Ok(_), true) => both += 1,
                (Ok(_), false) => here_only += 1,
                (Err(why), _) => lacking = Some(why.clone()),
            }
            let cell = vec![
                ("table", text(table)),
                ("s", PaperValue::Count(*send)),
                ("r", PaperValue::Count(*receive)),
                ("measure", text("stalls in 16 writes (paper: Mbit/s)")),
            ];
            let standard = Standard::printed(PaperValue::Number(*mbits, 2));
            here.row(
                cell,
                Some(standard),
                stalls.map(|stalls| PaperValue::Count(stalls as u64)),
            );
        }
    }
    let deadlocked = printed
        .iter()
        .flatten()
        .filter(|mbits| **mbits < DEADLOCKED)
        .count() as u64;
    let counts = [
        (
            "pairs that deadlock in the paper and stall here",
            deadlocked,
            both,
        ),
        ("pairs that deadlock in the paper alone", 0, paper_only),
        ("pairs that stall here alone", 0, here_only),
    ];
    for (measure, paper, count) in counts {
        let cell = vec![("table", text(table)), ("measure", text(measure))];
        let standard = Standard::derived(PaperValue::Count(paper));
        let measured = lacking.clone().map_or(Ok(PaperValue::Count(count)), Err);
        here.row(cell, Some(standard), measured);
    }
}

fn talk(policy: &'static str, send: u64, receive: u64) -> Talk {
    Talk {
        policy: Some(in_kernel(policy)),
        send_buffer: Some(send as usize),
        receive_buffer: Some(receive),
        request: 1,
        answers: [WARM_UP, WRITES]
            .map(|writes| vec![Piece::of(WRITE); writes])
            .into(),
        rest: Duration::from_millis(1),
        ..Talk::default()
    }
}
