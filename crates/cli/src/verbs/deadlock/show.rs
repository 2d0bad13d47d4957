//! The answer as text, as JSON, and the plane as SVG.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use tinygram_engine::Duration;
use tinygram_papers::moldeklev::cures::{Cure, Examined, busy};
use tinygram_papers::moldeklev::plane::Grid;
use tinygram_papers::moldeklev::predict::{Area, Class, Deadlock, Threshold};
use tinygram_papers::moldeklev::transfer::Transfer;
use tinygram_report::{
    Align, Column, Destination, Document, Entry, Figure, Line, Point, Table, json as to_json,
};

use super::Findings;
use super::plan::Parameters;
use crate::exit::Failure;
use crate::files::failed;
use crate::{interrupt, terminal};

/// An inequality with its numbers filled in.
#[derive(Serialize)]
struct Inequality {
    /// The paper's.
    number: u8,
    rule: String,
    filled_in: String,
    holds: bool,
}

/// (1) and (2), in the terms that this receiver has.
fn inequalities(parameters: &Parameters, threshold: &Threshold) -> [Inequality; 2] {
    let (s, mss) = (parameters.send_buffer, u64::from(parameters.mss));
    [(1, 0, ""), (2, mss, " + MSS")].map(|(number, more, plus)| {
        let share = threshold
            .share
            .map(|(percent, octets)| (format!("S < {percent} % R{plus}"), octets + more));
        let segments = threshold.segments.map(|octets| {
            let rule = match octets / mss {
                2 if octets == 2 * mss => format!("S < {} MSS", 2 + number - 1),
                1 if octets == mss + 1 => format!("S < MSS + 1{plus}"),
                _ => format!("S < {octets}{plus}"),
            };
            (rule, octets + more)
        });
        let terms: Vec<(String, u64)> = [share, segments].into_iter().flatten().collect();
        let rules: Vec<&str> = terms.iter().map(|(rule, _)| rule.as_str()).collect();
        let numbers = terms.iter().map(|(_, limit)| {
            let relation = if s < *limit { "<" } else { ">=" };
            format!("{s} {relation} {limit}")
        });
        Inequality {
            number: number as u8,
            rule: rules.join(" and "),
            filled_in: numbers.collect::<Vec<_>>().join(" and "),
            holds: terms.iter().all(|(_, limit)| s < *limit),
        }
    })
}

pub(super) fn text(parameters: &Parameters, findings: &Findings) -> String {
    let mut text = String::new();
    let prediction = &findings.asked.prediction;
    let inequalities = inequalities(parameters, &prediction.threshold);
    let _ = writeln!(text, "{}\n", subject(parameters));
    for inequality in &inequalities {
        let verdict = if inequality.holds {
            "holds"
        } else {
            "does not hold"
        };
        let Inequality {
            number,
            rule,
            filled_in,
            ..
        } = inequality;
        let _ = writeln!(text, "  ({number}) {rule}:  {filled_in}:  {verdict}");
    }
    let _ = writeln!(text, "\n{}", verdict(parameters, &findings.asked));
    if !findings.cures.is_empty() {
        let (ink, width) = terminal::canvas(terminal::WIDTH);
        let _ = write!(
            text,
            "\n{}",
            cure_table(&findings.cures).to_text(width, ink)
        );
    }
    text
}

fn verdict(parameters: &Parameters, asked: &Examined) -> String {
    let simulated = format!("{}.{}", simulated(asked), disagreement(asked));
    let Some(deadlock) = &asked.prediction.deadlock else {
        let why = match asked.prediction.area {
            Area::Safe => {
                "Safe: whatever is in flight, either it makes the receiver acknowledge or \
                           there is room for a full segment behind it."
            }
            _ => {
                "The inequalities allow a deadlock, but the rules, played through, do not come to one."
            }
        };
        return format!("{why}\nSimulated: {simulated}");
    };
    let how = match deadlock.class {
        Class::WindowUpdate => {
            "Deadlocks by the window update rule (1): all of the send buffer is not \
                                enough to make the receiver acknowledge."
        }
        Class::Copying => "Deadlocks by how data is copied and held (2): at once.",
        Class::Timer => {
            "Deadlocks by the timer and what is held (2): as soon as a timer's ACK comes \
                         while only a part of a flight has arrived."
        }
    };
    let still = standing_still(parameters, asked, deadlock);
    format!(
        "{how}\n{still}\nPredicted: {:.2} Mbit/s, {:.0} bytes for each ACK of the timer, every {} ms.\n\
         Simulated: {simulated}",
        deadlock.mbit_per_s, deadlock.per_timer, parameters.ack_timer_ms
    )
}

/// What to make of a prediction and a simulation that do not agree.
fn disagreement(asked: &Examined) -> &'static str {
    let seen = !asked.simulated.deadlocks.is_empty();
    match (&asked.prediction.deadlock, seen) {
        (Some(_), false) => {
            "\nThe two disagree: by its rules it can stand still, and with these hosts' costs it was \
             not seen to. Other hosts, or a tick at another instant, may bring it about."
        }
        (None, true) => {
            "\nThe two disagree: the rules, played without time, do not lead there; the hosts' costs \
             and the tick do. Believe the simulation."
        }
        _ => "",
    }
}

/// Inequality (3) with its numbers.
fn standing_still(parameters: &Parameters, asked: &Examined, deadlock: &Deadlock) -> String {
    let (sent, buffered) = (deadlock.sent, deadlock.buffered);
    let enough = asked.prediction.threshold.octets();
    let left = buffered - sent;
    let held = if left == 0 {
        "nothing is left to send".to_owned()
    } else if left < u64::from(parameters.mss) {
        format!(
            "the {left} behind them are no full segment ({left} < {})",
            parameters.mss
        )
    } else {
        format!("the {left} behind them are held")
    };
    format!(
        "Then {sent} bytes are in flight, too few for the receiver ({sent} < {enough}), and {held}."
    )
}

fn simulated(examined: &Examined) -> String {
    let simulated = &examined.simulated;
    let through = format!("{:.2} Mbit/s", simulated.mbit_per_s);
    match simulated.deadlocks.len() {
        0 if Findings::waits(examined) => format!(
            "{through}, no deadlock in {} runs, but {:.0} % of the time waiting for the timer",
            simulated.runs,
            100.0 * simulated.waiting
        ),
        0 => format!("{through}, no deadlock in {} runs", simulated.runs),
        deadlocked => format!(
            "{through}, deadlocked in {deadlocked} of {} runs",
            simulated.runs
        ),
    }
}

fn cure_table(cures: &[(Cure, Examined)]) -> Table {
    let heads = [
        ("What is changed", Align::Left),
        ("Predicted", Align::Left),
        ("Simulated", Align::Left),
        ("Works", Align::Left),
        ("Paper", Align::Left),
    ];
    let row = |(cure, examined): &(Cure, Examined)| {
        let predicted = match &examined.prediction.deadlock {
            Some(deadlock) => format!("{:.2} Mbit/s", deadlock.mbit_per_s),
            None => "no deadlock".into(),
        };
        let works = match (works(examined), Findings::waits(examined)) {
            (true, _) => "yes",
            (_, true) => "no",
            _ => "unsure",
        };
        [
            cure.what.clone(),
            predicted,
            simulated(examined),
            works.into(),
            cure.source.into(),
        ]
        .map(Entry::new)
        .into()
    };
    Table {
        title: "What helps".into(),
        columns: heads
            .map(|(head, align)| Column {
                group: String::new(),
                head: head.into(),
                align,
            })
            .into(),
        rows: cures.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// A cure must do both on paper and in the simulator.
fn works(examined: &Examined) -> bool {
    !Findings::ails(examined)
}

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

/// All but `deadlock` are absent where none is predicted.
#[derive(Serialize)]
struct Predicted {
    deadlock: bool,
    /// `window-update`, `copying` or `timer`.
    class: Option<&'static str>,
    /// Which inequality it is of.
    inequality: Option<u8>,
    /// In flight and not acknowledged, in the send buffer, and through for each ACK of the timer.
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
            area: match examined.prediction.area {
                Area::Certain => "certain",
                Area::Possible => "possible",
                Area::Safe => "safe",
            },
            predicted: Predicted {
                deadlock: deadlock.is_some(),
                class: deadlock.map(|deadlock| match deadlock.class {
                    Class::WindowUpdate => "window-update",
                    Class::Copying => "copying",
                    Class::Timer => "timer",
                }),
                inequality: deadlock.map(|deadlock| match deadlock.class {
                    Class::WindowUpdate => 1,
                    Class::Copying | Class::Timer => 2,
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

pub(super) fn json(parameters: &Parameters, findings: &Findings) -> String {
    let cures = findings.cures.iter().map(|(cure, examined)| CureSeen {
        change: cure.what.clone(),
        source: cure.source,
        works: works(examined),
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

/// Runs of each pair of the plane.
const PLANE_RUNS: u32 = 3;
/// How long each pair is waited for.
const PLANE_WATCHED: Duration = Duration::from_secs(20);
/// Pairs along each side of the plane.
const PAIRS: u64 = 40;

/// The plane around the buffers that were asked about, simulated.
pub(super) fn plane(
    parameters: &Parameters,
    transfer: &Transfer,
    path: &Path,
    into: Destination,
) -> Result<(), Failure> {
    let mss = f64::from(parameters.mss);
    let send_to = (parameters.send_buffer * 2).max(4 * u64::from(parameters.mss));
    let receive_to = (parameters.receive_buffer * 2).max(8 * u64::from(parameters.mss));
    let step = send_to.max(receive_to).div_ceil(PAIRS);
    let grid = Grid {
        step,
        send_to,
        receive_to,
        within: PLANE_WATCHED,
    };
    let pairs = grid.pairs(&busy(transfer), PLANE_RUNS, parameters.seed);
    let points = pairs.iter().map(|pair| Point {
        x: pair.receive as f64,
        y: pair.send as f64,
        marked: pair.deadlocks,
    });
    let threshold = Threshold::of(&transfer.rules.receiver);
    let slope = threshold.share.map(|(percent, _)| percent as f64 / 100.0);
    let level = threshold.segments.map(|octets| octets as f64);
    let bounds = [("(1)", 0.0, false), ("(2)", mss, true)];
    let lines = bounds.into_iter().flat_map(|(name, more, dashed)| {
        let line = |at_zero: f64, slope: f64| Line {
            name: name.into(),
            at_zero: at_zero + more,
            slope,
            dashed,
        };
        let share = slope.map(|slope| line(0.0, slope));
        let segments = level.map(|level| line(level, 0.0));
        [share, segments].into_iter().flatten().collect::<Vec<_>>()
    });
    let figure = Figure {
        title: format!(
            "Buffers that deadlock, MSS {}, {}",
            parameters.mss, parameters.profile
        ),
        subtitle: "crosses deadlock; below both lines (1) all do, above either line (2) none"
            .into(),
        x_label: "receive buffer (bytes)".into(),
        y_label: "send buffer (bytes)".into(),
        points: points.collect(),
        lines: lines.collect(),
    };
    interrupt::shielded(|| into.write(figure.to_svg().as_bytes()))
        .map_err(|error| failed(path, error))
}

/// What a capture is of.
pub(super) fn comment(parameters: &Parameters) -> String {
    format!(
        "tinygram deadlock, simulated: {}, one run; payload is zeros",
        subject(parameters)
    )
}

/// What was asked about; the policy only where it is not the profile's.
fn subject(parameters: &Parameters) -> String {
    let policy = parameters
        .policy
        .map_or(String::new(), |name| format!(", {name}"));
    format!(
        "S = {}, R = {}, MSS = {}, writes of {} bytes ({}{policy})",
        parameters.send_buffer,
        parameters.receive_buffer,
        parameters.mss,
        parameters.write,
        parameters.profile,
    )
}
