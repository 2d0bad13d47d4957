//! The results as one JSON document.

use serde::Serialize;
use tinygram_papers::moldeklev::cures::Examined;
use tinygram_papers::moldeklev::predict::DeadlockClass;
use tinygram_report::{Document, json as to_json};

use super::super::done::Findings;
use super::super::plan::Parameters;
use super::{Inequality, inequalities};

#[derive(Serialize)]
struct Answer {
    inequalities: [Inequality; 2],
    #[serde(flatten)]
    asked: Seen,
    cures: Vec<CureSeen>,
}

#[derive(Serialize)]
struct CureSeen {
    change: String,
    source: &'static str,
    works: bool,
    #[serde(flatten)]
    seen: Seen,
}

#[derive(Serialize)]
struct Seen {
    /// `certain` inside (1), `possible` inside (2), or `safe`.
    area: &'static str,
    predicted: Predicted,
    simulated: SimulatedSeen,
}

/// All fields except `deadlock` are absent if no deadlock is predicted.
#[derive(Serialize)]
struct Predicted {
    deadlock: bool,
    /// `window-update`, `copying` or `timer`.
    class: Option<&'static str>,
    /// The number of the inequality.
    inequality: Option<u8>,
    /// Bytes in flight and not acknowledged, bytes in the send buffer, and bytes that get through
    /// per ACK of the timer.
    sent_bytes: Option<u64>,
    buffered_bytes: Option<u64>,
    bytes_per_timer: Option<f64>,
    mbit_per_s: Option<f64>,
}

#[derive(Serialize)]
struct SimulatedSeen {
    runs: u32,
    deadlocked: usize,
    mbit_per_s: f64,
    /// The share of the time in which nothing moves until a timer fires.
    waiting_percent: f64,
}

impl Seen {
    fn new(examined: &Examined) -> Self {
        let deadlock = examined.prediction.deadlock.as_ref();
        Self {
            area: super::area(examined.prediction.area),
            predicted: Predicted {
                deadlock: deadlock.is_some(),
                class: deadlock.map(|deadlock| super::class(deadlock.class)),
                inequality: deadlock.map(|deadlock| match deadlock.class {
                    DeadlockClass::WindowUpdate => 1,
                    DeadlockClass::Copying | DeadlockClass::Timer => 2,
                }),
                sent_bytes: deadlock.map(|deadlock| deadlock.sent),
                buffered_bytes: deadlock.map(|deadlock| deadlock.buffered),
                bytes_per_timer: deadlock.map(|deadlock| deadlock.per_timer),
                mbit_per_s: deadlock.map(|deadlock| deadlock.mbit_per_s),
            },
            simulated: SimulatedSeen {
                runs: examined.simulated.runs,
                deadlocked: examined.simulated.deadlocks.len(),
                mbit_per_s: examined.simulated.mbit_per_s,
                waiting_percent: 100.0 * examined.simulated.waiting,
            },
        }
    }
}

/// Returns the document with schema `tinygram.deadlock/1`.
pub(in super::super) fn json(parameters: &Parameters, findings: &Findings) -> String {
    let cures = findings.cures.iter().map(|(cure, examined)| CureSeen {
        change: cure.what.clone(),
        source: cure.source,
        works: Findings::works(examined),
        seen: Seen::new(examined),
    });
    to_json(&Document {
        schema: "tinygram.deadlock/1",
        parameters: parameters.clone(),
        results: Answer {
            inequalities: inequalities(parameters, &findings.asked.prediction.threshold),
            asked: Seen::new(&findings.asked),
            cures: cures.collect(),
        },
    })
}
