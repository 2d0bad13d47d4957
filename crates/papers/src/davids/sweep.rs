//! The effects of the limit, the timer and chance on the two applications.

use tinygram_engine::Duration;

use super::published::TRACES;
use super::trace::{AckClock, Measured, Parameters};
use crate::experiment::{Plot, PlotMark, PlotSeries};

/// The number of phases whose mean is a point of a plot; evenly spread, and none is a write's time.
const PHASES: u32 = 20;
/// The number of phases in a picture that shows each of them; for a tick of 200 ms, one per
/// millisecond.
const SHOWN_PHASES: u32 = 200;
/// The limits, in steps of one write, up to all the data, 500 octets.
const LIMITS: std::ops::RangeInclusive<u32> = 1..=50;
const LIMIT_STEP: u32 = 10;
/// The ticks, in steps of 10 ms. RFC 1122 allows 500 ms, but if an ACK takes longer than 400 ms,
/// Solaris's least retransmission timeout, the data is retransmitted.
const TICKS: std::ops::RangeInclusive<u32> = 1..=39;
const TICK_STEP_MS: u32 = 10;

/// The article's applications, with their names in the legend.
const APPLICATIONS: [(&str, Parameters); 2] = [
    ("a write every 10 ms", Parameters::SLOW),
    ("writes as fast as it can", Parameters::FAST),
];

/// The measure of a run that a plot shows.
type Measure = fn(&Measured) -> f64;

/// Returns all the pictures.
pub(super) fn plots() -> Vec<Plot> {
    let overhead: Measure = |run| run.percent_of_data(run.total_overhead());
    let waiting: Measure = |run| run.sending_ms() - run.generating_ms();
    let measures = [
        (
            "Overhead",
            "overhead of all packets [% of the data]",
            overhead,
        ),
        ("Delay", "sending beyond generating [ms]", waiting),
    ];
    let mut plots = Vec::new();
    for (what, y, measure) in measures {
        let plot = |against: &str, x: &'static str, series: Vec<PlotSeries>| Plot {
            title: format!("{what} against {against} (mean over the tick's phases)"),
            x,
            y,
            series,
        };
        plots.push(plot(
            "tcp_naglim_def, tick 200 ms",
            "tcp_naglim_def [B]",
            lines(
                measure,
                LIMITS.map(|step| step * LIMIT_STEP),
                Parameters::with_naglim,
            ),
        ));
        plots.push(plot(
            "the delayed-ACK timer",
            "tick [ms]",
            lines(
                measure,
                TICKS.map(|step| step * TICK_STEP_MS),
                |of, tick| of.with_tick_ms(tick.into()),
            ),
        ));
    }
    plots.push(by_phase());
    plots
}

/// Returns for each application a line through the means over all phases, at each `x`.
fn lines(
    measure: Measure,
    xs: impl Iterator<Item = u32>,
    with: fn(Parameters, u32) -> Parameters,
) -> Vec<PlotSeries> {
    let xs: Vec<u32> = xs.collect();
    let line = |(name, application): &(&str, Parameters)| {
        let mean = |x: u32| {
            let runs = over_phases(&with(*application, x), PHASES);
            runs.iter().map(measure).sum::<f64>() / f64::from(PHASES)
        };
        PlotSeries {
            name: (*name).into(),
            mark: PlotMark::Line,
            points: xs.iter().map(|x| (f64::from(*x), mean(*x))).collect(),
        }
    };
    APPLICATIONS.iter().map(line).collect()
}

/// Returns a plot that shows how much of the traces is due to chance.
fn by_phase() -> Plot {
    let line = |trace: usize| {
        let published = &TRACES[trace - 1];
        let runs = over_phases(&published.parameters, SHOWN_PHASES);
        let points = (0..).zip(&runs).map(|(phase, run)| {
            let phase = f64::from(phase) + 0.5;
            (phase, run.sending_ms())
        });
        PlotSeries {
            name: format!("trace {trace}: {}", published.what),
            mark: PlotMark::Line,
            points: points.collect(),
        }
    };
    Plot {
        title: "Sending time against the phase of the server's tick (200 ms)".into(),
        x: "tick after the first write [ms]",
        y: "sending [ms]",
        series: [1, 2, 3, 5].map(line).into(),
    }
}

/// Runs at `phases` phases of the server's tick, evenly spread over its period.
pub(super) fn over_phases(parameters: &Parameters, phases: u32) -> Vec<Measured> {
    let AckClock::Cyclic { period, .. } = parameters.ack_clock else {
        return vec![parameters.run()];
    };
    let phase = |index: u32| {
        let halves = 2 * u64::from(index) + 1;
        Duration::from_nanos(period.as_nanos() * halves / (2 * u64::from(phases)))
    };
    (0..phases)
        .map(|index| parameters.with_phase(phase(index)).run())
        .collect()
}
