//! Heidemann's page: three documents over one connection, from a server with and without each fix.

use std::time::Duration;

use tinygram_naglemark_live::{Heard, Piece, Talk};
use tinygram_papers::experiment::{Effort, Outcome};
use tinygram_papers::heidemann::published::{STALL_MS, TABLE_1};
use tinygram_papers::heidemann::{APACHE_BUFFER, BODIES, HEADERS, REQUESTS};
use tinygram_papers::{Standard, value::PaperValue};

use super::{ETHERNET_MTU, Here, SILENCE, in_kernel, mean_ms, ours, text};

/// A server: its name, whether it writes the headers apart, its policy, and its line in the paper's table.
struct Server {
    fixes: &'static str,
    headers_apart: bool,
    policy: &'static str,
    line: Option<usize>,
}

const SERVERS: [Server; 4] = [
    Server {
        fixes: "none",
        headers_apart: true,
        policy: "nagle",
        line: Some(1),
    },
    Server {
        fixes: "headers with data (2.2)",
        headers_apart: false,
        policy: "nagle",
        line: Some(2),
    },
    Server {
        fixes: "no Nagle (2.3)",
        headers_apart: true,
        policy: "off",
        line: None,
    },
    Server {
        fixes: "both",
        headers_apart: false,
        policy: "off",
        line: Some(3),
    },
];

/// "10 Mbit/s Ethernet" (section 2.1), in bits per second.
const RATE: u64 = 10_000_000;

pub(in super::super) fn run(effort: &Effort) -> Outcome {
    let mut here = Here::over(Some(RATE), Duration::ZERO, ETHERNET_MTU, effort.seed);
    let http = vec![("fixes", text("HTTP")), ("measure", text("retrieval [ms]"))];
    here.cannot(
        http,
        printed(TABLE_1[0].mean, 0),
        "its time is that of opening and closing connections on the paper's hosts",
    );
    for server in &SERVERS {
        server.measure(&mut here, effort);
    }
    here.cannot(
        vec![("fixes", text("none")), ("measure", text("short initial segment (2.2): stalls of document 1"))],
        Some(Standard::derived(PaperValue::Number(1.0, 0))),
        "its window of two segments counts octets; Linux's begins with ten segments and counts those",
    );
    let parameters = vec![
        ours(
            "link",
            "10 Mbit/s, full duplex, no delay",
            "the paper's was half duplex",
        ),
        ours(
            "transactions",
            effort.repetitions.to_string(),
            "--repetitions; the paper has a hundred",
        ),
        ours(
            "a stall",
            "nothing came for more than 25 ms, and a delayed acknowledgment left",
            "Linux delays an acknowledgment for 40 ms at least",
        ),
    ];
    let notes = vec![
        "The paper's times have a tick of 200 ms in each stall, and SPARCstations' work. Linux delays an acknowledgment for 40 ms, \
         so a stall here is shorter; whether a document stalls does not depend on it."
            .into(),
    ];
    here.outcome(parameters, notes)
}

impl Server {
    fn measure(&self, here: &mut Here, effort: &Effort) {
        let transactions: Result<Vec<_>, _> = (0..effort.repetitions)
            .map(|_| here.talk(&self.talk()))
            .collect();
        let cell = |measure: String| vec![("fixes", text(self.fixes)), ("measure", text(measure))];
        let mean = transactions.as_ref().map_err(Clone::clone).map(|all| {
            let whole = |heard: &Vec<Heard>| heard.iter().map(Heard::elapsed).sum();
            PaperValue::Number(
                mean_ms(&all.iter().map(whole).collect::<Vec<Duration>>()),
                1,
            )
        });
        let standard = self.line.and_then(|line| printed(TABLE_1[line].mean, 0));
        here.row(cell("retrieval [ms]".into()), standard, mean);
        for document in 0..BODIES.len() {
            let stalls = transactions.as_ref().map_err(Clone::clone).map(|all| {
                let of_it = all.iter().map(|heard| heard[document].stalls(SILENCE));
                PaperValue::Number(of_it.sum::<usize>() as f64 / all.len() as f64, 2)
            });
            let standard = self
                .stalls_of(document)
                .map(|stalls| Standard::derived(PaperValue::Number(stalls, 0)));
            here.row(
                cell(format!("stalls of document {}", document + 1)),
                standard,
                stalls,
            );
        }
        // The second document is of the page with the first fix alone.
        if !self.headers_apart && self.policy == "nagle" {
            let longest = transactions.map(|all| {
                let gaps = all.iter().flatten().map(longest_gap);
                text(format!(
                    "longest {:.0}",
                    gaps.max().unwrap_or_default().as_secs_f64() * 1000.0
                ))
            });
            let [low, high] = STALL_MS;
            let standard = Standard::printed(text(format!("{low} to {high}")));
            here.row(cell("a stall [ms]".into()), Some(standard), longest);
        }
    }

    /// Returns how often the paper's figures show a document to stall by Nagle's algorithm (section 2.3).
    fn stalls_of(&self, document: usize) -> Option<f64> {
        match (self.policy, self.headers_apart, document) {
            ("off", ..) => Some(0.0),
            (_, false, 1) => Some(1.0),
            _ => None,
        }
    }

    fn talk(&self) -> Talk {
        let answer = |body: &u64| {
            let mut writes = Vec::new();
            let mut left = *body;
            if self.headers_apart {
                writes.push(HEADERS);
            } else {
                left += HEADERS;
            }
            while left > 0 {
                writes.push(left.min(APACHE_BUFFER));
                left -= left.min(APACHE_BUFFER);
            }
            writes
                .into_iter()
                .map(|octets| Piece::of(octets as usize))
                .collect()
        };
        Talk {
            policy: Some(in_kernel(self.policy)),
            request: REQUESTS[1] as usize,
            answers: BODIES.iter().map(answer).collect(),
            ..Talk::default()
        }
    }
}

fn printed(value: f64, digits: u8) -> Option<Standard> {
    Some(Standard::printed(PaperValue::Number(value, digits)))
}

fn longest_gap(heard: &Heard) -> Duration {
    let mut before = Duration::ZERO;
    let gaps = heard.arrivals.iter().map(|(at, _)| {
        let gap = at.saturating_sub(before);
        before = *at;
        gap
    });
    gaps.max().unwrap_or_default()
}
