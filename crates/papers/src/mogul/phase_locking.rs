//! Section 3.2: repeated requests lock to the receiver's delayed-ACK clock. So a delayed answer
//! does not wait for a random part of the clock's period, but for nearly all that is left of it.

use tinygram_engine::Duration;
use tinygram_naglemark::{Lengths, MediumKind, Sample, Series};

use super::shown::{by_delay, elapsed_ms};
use super::stalled::Setting;
use crate::experiment::{
    Class, Effort, Origin, Outcome, Parameter, Plot, PlotMark, PlotSeries, Row,
};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// "Each of which the response would normally arrive within 5 msec".
const USUAL_MS: f64 = 5.0;
/// The round-trip time, beyond that of hosts and ring, that makes answers take that long.
const RTT: Duration = Duration::from_micros(2_400);
/// Only the last of these ten lengths is an odd number of full segments and a short one, on FDDI.
const ONE_OF_TEN: Series = Series {
    from: 4_000,
    to: 13_000,
    step: 1_000,
    transfers: 1_000,
};
const DELAYED: u32 = 13_000;
/// All of these are.
const EVERY_ONE: Series = Series {
    from: 13_000,
    to: 17_000,
    step: 1_000,
    transfers: 500,
};
/// The number of fresh pairs of hosts, whose clocks have any phase.
const STRANGERS: u32 = 1_000;

pub(super) fn run(effort: &Effort) -> Outcome {
    let one_of_ten = samples(ONE_OF_TEN, effort.seed);
    let every_one = samples(EVERY_ONE, effort.seed);
    // The first request meets the clock at any time; from then on requests and clock are locked.
    let locked = &one_of_ten[ONE_OF_TEN_LENGTHS..];
    let delays: Vec<f64> = locked
        .iter()
        .filter(|it| it.length == DELAYED)
        .map(excess)
        .collect();
    let strangers: Vec<f64> = (0..STRANGERS)
        .map(|which| excess(&stranger(effort.seed, which)))
        .collect();
    let usual: Vec<f64> = locked
        .iter()
        .filter(|it| it.length != DELAYED)
        .map(elapsed_ms)
        .collect();
    let rounds: Vec<f64> = locked
        .chunks_exact(ONE_OF_TEN_LENGTHS)
        .map(|round| round.iter().map(elapsed_ms).sum())
        .collect();
    let rows = vec![
        Row {
            class: Class::Fitted,
            ..row("an answer that is not delayed (ms)", 5.0, mean(&usual), 0.5)
        },
        row(
            "one of ten delayed: ten answers together (ms)",
            200.0,
            mean(&rounds),
            2.0,
        ),
        row(
            "one of ten delayed: delay of that one (ms)",
            150.0,
            mean(&delays),
            5.0,
        ),
        row(
            "every one delayed: delay of each (ms)",
            200.0,
            mean(&every_one[1..].iter().map(excess).collect::<Vec<_>>()),
            10.0,
        ),
        follows(row(
            "first answer of a pair of hosts: mean delay (ms)",
            100.0,
            mean(&strangers),
            6.0,
        )),
        follows(row(
            "first answer of a pair of hosts: delays below 50 ms (%)",
            25.0,
            share_below(&strangers, 50.0),
            5.0,
        )),
    ];
    Outcome {
        rules: vec![
            "The delayed-ACK timeout is the next tick of a free-running clock of 200 ms (section \
             3.2).",
            "A delayed answer arrives right after a tick. If the next answer is also delayed, it \
             waits for the next tick (section 3.2).",
        ],
        parameters: parameters(),
        rows,
        plots: vec![in_order(locked), distribution(delays, strangers)],
        notes: vec![
            "The time of an undisturbed answer is the paper's example. The times of a first \
             answer are what the paper expects, \"uniformly distributed between 0 and 200 msec\". \
             The other times follow from the rules."
                .into(),
        ],
        ..Outcome::default()
    }
}

fn parameters() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "answers of 13,000 octets among nine shorter ones",
            value: "FDDI, MSS 4312: three full segments and 64 octets".into(),
            origin: Origin::Assumed("any length with OF+SFS would do"),
        },
        Parameter {
            name: "round-trip time",
            value: "2.4 ms".into(),
            origin: Origin::Fitted("with it, answers take the 5 ms of the paper's example"),
        },
    ]
}

const ONE_OF_TEN_LENGTHS: usize = 10;

fn setting(series: Series, seed: u64) -> Setting {
    let buffers = (128 << 10, 128 << 10);
    let mut setting = Setting::new(MediumKind::Fddi, "NAGLE", buffers, seed);
    setting.hosts.rtt = RTT;
    setting.plan.lengths = Lengths {
        series,
        ..Lengths::PAPER
    };
    setting
}

fn samples(series: Series, seed: u64) -> Vec<Sample> {
    setting(series, seed).run(0).samples
}

/// Returns the first answer of one of many fresh pairs of hosts.
fn stranger(seed: u64, which: u32) -> Sample {
    let once = Lengths::fixed(DELAYED, 1).series;
    setting(once, seed).run(which).samples[0]
}

fn row(measure: &str, published: f64, ours: f64, within: f64) -> Row {
    Row {
        cell: vec![("measure", PaperValue::Text(measure.into()))],
        standard: Some(Standard::printed(PaperValue::Number(published, 0))),
        reproduced: PaperValue::Number(ours, 1),
        tolerance: Tolerance::Within(within),
        class: Class::Rules,
    }
}

/// Marks the row's value as derived: it follows from "uniformly distributed between 0 and 200
/// msec", but the paper does not say it.
fn follows(row: Row) -> Row {
    let standard = row.standard.map(|it| Standard::derived(it.value));
    Row { standard, ..row }
}

/// Returns a plot of each request's delay in the order of requests.
fn in_order(locked: &[Sample]) -> Plot {
    let shown = locked.iter().take(200).enumerate();
    let points = |delayed: bool| {
        let of_it = shown
            .clone()
            .filter(|(_, it)| (it.length == DELAYED) == delayed);
        of_it
            .map(|(at, it)| (at as f64 + 1.0, elapsed_ms(it)))
            .collect()
    };
    Plot {
        title: "Phase locking: one request of ten is delayed, each time by the same 150 ms".into(),
        x: "request (number)",
        y: "elapsed time (ms)",
        series: by_delay(points).into(),
    }
}

fn distribution(locked: Vec<f64>, strangers: Vec<f64>) -> Plot {
    let cumulative = |mut delays: Vec<f64>| -> Vec<(f64, f64)> {
        delays.sort_by(f64::total_cmp);
        let count = delays.len() as f64;
        let steps = delays.iter().enumerate();
        steps
            .map(|(at, delay)| (*delay, 100.0 * (at as f64 + 1.0) / count))
            .collect()
    };
    Plot {
        title: "Delays: the expected distribution and that of locked requests".into(),
        x: "delay (ms)",
        y: "delays no longer (%)",
        series: vec![
            PlotSeries {
                name: "first answers of 1000 pairs of hosts".into(),
                mark: PlotMark::Line,
                points: cumulative(strangers),
            },
            PlotSeries {
                name: "locked: one of ten delayed".into(),
                mark: PlotMark::Dots,
                points: cumulative(locked),
            },
            PlotSeries {
                name: "uniform between 0 and 200 ms".into(),
                mark: PlotMark::Dashed,
                points: vec![(0.0, 0.0), (200.0, 100.0)],
            },
        ],
    }
}

/// Returns the delay beyond an answer's usual time.
fn excess(sample: &Sample) -> f64 {
    elapsed_ms(sample) - USUAL_MS
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn share_below(values: &[f64], limit: f64) -> f64 {
    let below = values.iter().filter(|value| **value < limit).count();
    100.0 * below as f64 / values.len().max(1) as f64
}
