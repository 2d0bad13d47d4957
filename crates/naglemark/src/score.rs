//! From samples to the numbers in a table's cell.

use tinygram_engine::Duration;

use crate::parameters::{Measured, MediumKind, Parameters, Sample, Trial};

/// "An arbitrary 10 msec for startup costs" (section 6).
const START_UP: Duration = Duration::from_millis(10);

/// A cell: one set of parameters, over some repetitions.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The paper's table that it belongs to, if one does.
    pub table: Option<u8>,
    /// What joined the hosts.
    pub medium: &'static str,
    /// The variant in the paper's spelling.
    pub variant: &'static str,
    /// Octets.
    pub app_buffer: u64,
    /// Octets.
    pub socket_buffer: u64,
    /// The trial type.
    pub trial: Trial,
    /// Transfers that took longer than the multiplier times the estimate; mean over repetitions.
    pub score_percent: f64,
    /// Its standard deviation over repetitions.
    pub score_sd: f64,
    /// Data segments per transfer.
    pub segments_per_transfer: f64,
    /// Those below the MSS.
    pub short_segments_per_transfer: f64,
    /// Mean time from request to last octet.
    pub mean_elapsed_ms: f64,
    /// 99 % of the transfers took no longer.
    pub p99_elapsed_ms: f64,
    /// The slope of elapsed time over length, delayed transfers left out.
    pub slope_ns_per_byte: f64,
    /// Data segments, as a multiple of the fewest that could carry the octets.
    pub segments_over_fewest: f64,
    /// Mean time, as a multiple of the earliest possible delivery.
    pub elapsed_over_earliest: f64,
    /// Work done, for the statistics line.
    pub work: Work,
}

/// What was simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Transfers.
    pub transfers: u64,
    /// Data segments of the server.
    pub data_segments: u64,
    /// Events.
    pub events: u64,
}

impl Work {
    /// Both added up.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            transfers: self.transfers + other.transfers,
            data_segments: self.data_segments + other.data_segments,
            events: self.events + other.events,
        }
    }
}

/// Runs `parameters` `repetitions` times, each with a seed of its own, and sums up.
#[must_use]
pub fn cell(
    table: Option<u8>,
    variant: &'static str,
    parameters: &Parameters,
    repetitions: u32,
    multiplier: u32,
) -> Cell {
    let mut sums = Sums::default();
    for repetition in 0..repetitions {
        let parameters = parameters.repetition(repetition);
        let measured = parameters.run();
        sums.add(&parameters, &measured, multiplier);
    }
    sums.cell(table, variant, parameters)
}

/// Sums up what something else than this paper's model has measured, one item for each repetition.
#[must_use]
pub fn summed(
    variant: &'static str,
    parameters: &Parameters,
    repetitions: &[Measured],
    multiplier: u32,
) -> Cell {
    let mut sums = Sums::default();
    for measured in repetitions {
        sums.add(parameters, measured, multiplier);
    }
    sums.cell(None, variant, parameters)
}

/// "The length divided by the LAN's raw transfer rate, plus an arbitrary 10 msec".
#[must_use]
pub fn estimate(medium: &MediumKind, length: u32) -> Duration {
    START_UP + Duration::from_nanos(u64::from(length) * 8_000_000_000 / medium.bits_per_second())
}

/// Whether the sample counts as delayed.
#[must_use]
pub fn is_delayed(medium: &MediumKind, rtt: Duration, sample: &Sample, multiplier: u32) -> bool {
    sample.elapsed > (estimate(medium, sample.length) + rtt).times(u64::from(multiplier))
}

#[derive(Default)]
struct Sums {
    scores: Vec<f64>,
    elapsed_ns: Vec<u64>,
    fewest: u64,
    earliest_ns: f64,
    short_segments: u64,
    regression: Regression,
    work: Work,
}

impl Sums {
    fn add(&mut self, parameters: &Parameters, measured: &Measured, multiplier: u32) {
        let medium = &parameters.medium;
        let mut delayed = 0;
        for sample in &measured.samples {
            if is_delayed(medium, parameters.rtt, sample, multiplier) {
                delayed += 1;
            } else {
                self.regression
                    .add(f64::from(sample.length), sample.elapsed.as_nanos() as f64);
            }
            self.elapsed_ns.push(sample.elapsed.as_nanos());
            self.fewest += u64::from(sample.length.div_ceil(u32::from(parameters.mss)));
            self.earliest_ns += earliest(parameters, sample.length).as_nanos() as f64;
        }
        let transfers = measured.samples.len();
        self.scores
            .push(100.0 * f64::from(delayed) / transfers.max(1) as f64);
        self.short_segments += measured.short_segments;
        self.work = self.work.and(Work {
            transfers: transfers as u64,
            data_segments: measured.data_segments,
            events: measured.events,
        });
    }

    fn cell(mut self, table: Option<u8>, variant: &'static str, parameters: &Parameters) -> Cell {
        let transfers = self.work.transfers.max(1) as f64;
        let total_ns: f64 = self.elapsed_ns.iter().map(|ns| *ns as f64).sum();
        let (score_percent, score_sd) = mean_and_sd(&self.scores);
        Cell {
            table,
            medium: parameters.medium.name(),
            variant,
            app_buffer: parameters.app_buffer,
            socket_buffer: parameters.socket_buffer,
            trial: parameters.trial,
            score_percent,
            score_sd,
            segments_per_transfer: self.work.data_segments as f64 / transfers,
            short_segments_per_transfer: self.short_segments as f64 / transfers,
            mean_elapsed_ms: total_ns / transfers / 1e6,
            p99_elapsed_ms: percentile(&mut self.elapsed_ns, 99) as f64 / 1e6,
            slope_ns_per_byte: self.regression.slope(),
            segments_over_fewest: self.work.data_segments as f64 / self.fewest.max(1) as f64,
            elapsed_over_earliest: total_ns / self.earliest_ns.max(1.0),
            work: self.work,
        }
    }
}

/// The slope of elapsed time over length, in ns per octet (section 8.1).
#[must_use]
pub fn regression<'a>(samples: impl Iterator<Item = &'a Sample>) -> f64 {
    let mut regression = Regression::default();
    for sample in samples {
        regression.add(f64::from(sample.length), sample.elapsed.as_nanos() as f64);
    }
    regression.slope()
}

/// No sender can deliver sooner: request and answer cross the link, the answer in the fewest
/// segments without a gap, and the hosts do only what cannot be done meanwhile.
#[must_use]
pub fn earliest(parameters: &Parameters, length: u32) -> Duration {
    let wire = parameters.medium.wire();
    let mss = u32::from(parameters.mss);
    let (full, rest) = (length / mss, length % mss);
    let mut on_the_wire = wire.occupies(mss).times(u64::from(full));
    if rest > 0 {
        on_the_wire += wire.occupies(rest);
    }
    on_the_wire + wire.propagation.times(2) + parameters.rtt
}

/// Mean and sample standard deviation.
fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (
        mean,
        if count > 1.0 {
            (squares / (count - 1.0)).sqrt()
        } else {
            0.0
        },
    )
}

/// The nearest-rank percentile.
fn percentile(values: &mut [u64], percent: usize) -> u64 {
    if values.is_empty() {
        return 0;
    }
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    *values.select_nth_unstable(rank).1
}

/// Least squares (section 8.1).
#[derive(Clone, Copy, Debug, Default)]
struct Regression {
    n: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
}

impl Regression {
    /// Welford's update, which does not lose digits.
    fn add(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        let dx = x - self.mean_x;
        self.mean_x += dx / self.n;
        self.mean_y += (y - self.mean_y) / self.n;
        self.xx += dx * (x - self.mean_x);
        self.xy += dx * (y - self.mean_y);
    }

    fn slope(&self) -> f64 {
        if self.xx > 0.0 {
            self.xy / self.xx
        } else {
            0.0
        }
    }
}
