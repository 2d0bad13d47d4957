//! Computes the numbers in a table's cell from samples.

use tinygram_engine::Duration;
use tinygram_sim::medium::{MediumKind, Wire};

use crate::backend::Conditions;
use crate::trial::{Sample, Taken};

/// What transfers are compared with. A transfer is delayed if it took longer than `multiplier`
/// times the estimate (section 6); a segment is short if it is below the MSS; data cannot be
/// delivered sooner than the link carries it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Yardstick {
    /// The medium that joins the hosts.
    pub medium: MediumKind,
    /// The wire that the simulation has; `None` if the hosts are real, for what they can do at best is unknown.
    pub wire: Option<Wire>,
    /// The round-trip time beyond the medium.
    pub rtt: Duration,
    /// The octets that a full segment carries.
    pub mss: u16,
    /// 3 in the paper's tables.
    pub multiplier: u32,
}

/// The numbers of a cell, over all repetitions.
#[derive(Clone, Debug)]
pub struct Score {
    /// The share of transfers that took longer than the multiplier times the estimate; mean over
    /// repetitions.
    pub score_percent: f64,
    /// Its standard deviation over repetitions, in percentage points.
    pub score_sd: f64,
    /// Data segments per transfer, retransmissions included, if the backend sees them.
    pub segments_per_transfer: Option<f64>,
    /// The segments below the MSS, if they are counted.
    pub short_segments_per_transfer: Option<f64>,
    /// Mean time from request to last octet.
    pub mean_elapsed_ms: f64,
    /// The time that 99 % of the transfers did not exceed.
    pub p99_elapsed_ms: f64,
    /// The slope of elapsed time over length by linear regression, delayed transfers left out
    /// (section 8.1).
    pub slope_ns_per_byte: f64,
    /// Data segments, as a multiple of the fewest that could carry the octets, if the backend sees them.
    pub segments_over_fewest: Option<f64>,
    /// Mean time, as a multiple of the earliest possible delivery, if that is known.
    pub elapsed_over_earliest: Option<f64>,
    /// The work done for this cell; zero if another cell's run also served this one.
    pub work: Work,
}

/// An amount of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Transfers.
    pub transfers: u64,
    /// Data segments of the server, as far as they were seen.
    pub data_segments: u64,
    /// Events of a simulator.
    pub events: u64,
}

impl Work {
    /// Returns the work without `part`.
    fn without(self, part: Self) -> Self {
        Self {
            transfers: self.transfers - part.transfers,
            data_segments: self.data_segments - part.data_segments,
            events: self.events - part.events,
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            transfers: self.transfers + other.transfers,
            data_segments: self.data_segments + other.data_segments,
            events: self.events + other.events,
        }
    }
}

impl Yardstick {
    /// Returns the yardstick for measurements under these conditions.
    #[must_use]
    pub fn new(conditions: &Conditions, multiplier: u32) -> Self {
        Self {
            medium: conditions.medium,
            wire: conditions.wire,
            rtt: conditions.rtt,
            mss: conditions.mss,
            multiplier,
        }
    }

    /// "The length divided by the LAN's raw transfer rate, plus an arbitrary 10 msec for startup
    /// costs" (section 6), and the round-trip time beyond the LAN, which the paper's estimate did
    /// not have.
    #[must_use]
    pub fn estimate(&self, length: u32) -> Duration {
        let bits_per_second = self.medium.bits_per_second();
        let raw = Duration::from_nanos(u64::from(length) * 8_000_000_000 / bits_per_second);
        START_UP + raw + self.rtt
    }

    /// Returns the longest time that a transfer of `length` octets may take without counting as delayed.
    #[must_use]
    pub fn cutoff(&self, length: u32) -> Duration {
        self.estimate(length).times(u64::from(self.multiplier))
    }

    /// Returns whether the transfer counts as delayed.
    #[must_use]
    pub fn is_delayed(&self, sample: &Sample) -> bool {
        sample.elapsed > self.cutoff(sample.length)
    }

    /// Returns the fewest segments that can carry `length` octets.
    #[must_use]
    pub fn fewest(&self, length: u32) -> u32 {
        length.div_ceil(u32::from(self.mss))
    }

    /// Returns the earliest possible delivery, if the wire is known. Request and answer cross the link, the answer in the
    /// fewest segments without a gap, and the hosts' work counts only if it cannot overlap with
    /// that.
    #[must_use]
    pub fn earliest(&self, length: u32) -> Option<Duration> {
        let wire = self.wire?;
        let mss = u32::from(self.mss);
        let (full, rest) = (length / mss, length % mss);
        let mut on_the_wire = wire.occupies(mss).times(u64::from(full));
        if rest > 0 {
            on_the_wire += wire.occupies(rest);
        }
        Some(on_the_wire + wire.propagation.times(2) + self.rtt)
    }
}

impl Score {
    /// Returns the score of all repetitions of a cell.
    pub fn of<'a>(yardstick: &Yardstick, repetitions: impl IntoIterator<Item = &'a Taken>) -> Self {
        let mut sums = Sums::default();
        for taken in repetitions {
            sums.add(yardstick, taken, true);
        }
        sums.score()
    }
}

/// The sums over a cell's repetitions so far.
#[derive(Default)]
pub(crate) struct Sums {
    scores: Vec<f64>,
    elapsed_ns: Vec<u64>,
    fewest: u64,
    /// Zero if it is unknown.
    earliest_ns: f64,
    short_segments: u64,
    /// Whether some repetition did not see the segments.
    unseen: bool,
    /// Whether some repetition did not count short segments.
    short_uncounted: bool,
    regression: Regression,
    work: Work,
    /// The part of the work that was done for other cells.
    of_others: Work,
}

impl Sums {
    /// Adds a repetition. `is_own` says whether it was run for this cell.
    pub(crate) fn add(&mut self, yardstick: &Yardstick, taken: &Taken, is_own: bool) {
        let mut delayed = 0;
        for sample in &taken.samples {
            if yardstick.is_delayed(sample) {
                delayed += 1;
            } else {
                self.regression
                    .add(f64::from(sample.length), sample.elapsed.as_nanos() as f64);
            }
            self.elapsed_ns.push(sample.elapsed.as_nanos());
            self.fewest += u64::from(yardstick.fewest(sample.length));
            if let Some(earliest) = yardstick.earliest(sample.length) {
                self.earliest_ns += earliest.as_nanos() as f64;
            }
        }
        let transfers = taken.samples.len();
        self.scores
            .push(100.0 * f64::from(delayed) / transfers.max(1) as f64);
        self.unseen |= taken.data_segments.is_none();
        self.short_segments += taken.short_segments.unwrap_or(0);
        self.short_uncounted |= taken.short_segments.is_none();
        let work = Work {
            transfers: transfers as u64,
            data_segments: taken.data_segments.unwrap_or(0),
            events: taken.events,
        };
        self.work = self.work.and(work);
        if !is_own {
            self.of_others = self.of_others.and(work);
        }
    }

    pub(crate) fn score(mut self) -> Score {
        let transfers = self.work.transfers.max(1) as f64;
        let total_ns: f64 = self.elapsed_ns.iter().map(|ns| *ns as f64).sum();
        let (score_percent, score_sd) = mean_and_sd(&self.scores);
        let short = self.short_segments as f64 / transfers;
        let segments = (!self.unseen).then_some(self.work.data_segments as f64);
        Score {
            score_percent,
            score_sd,
            segments_per_transfer: segments.map(|all| all / transfers),
            short_segments_per_transfer: (!self.short_uncounted).then_some(short),
            mean_elapsed_ms: total_ns / transfers / 1e6,
            p99_elapsed_ms: percentile(&mut self.elapsed_ns, 99) as f64 / 1e6,
            slope_ns_per_byte: self.regression.slope(),
            segments_over_fewest: segments.map(|all| all / self.fewest.max(1) as f64),
            elapsed_over_earliest: (self.earliest_ns > 0.0).then(|| total_ns / self.earliest_ns),
            work: self.work.without(self.of_others),
        }
    }
}

/// Returns the slope of elapsed time over length, in ns per octet (section 8.1).
#[must_use]
pub fn regression<'a>(samples: impl Iterator<Item = &'a Sample>) -> f64 {
    let mut regression = Regression::default();
    for sample in samples {
        regression.add(f64::from(sample.length), sample.elapsed.as_nanos() as f64);
    }
    regression.slope()
}

/// "An arbitrary 10 msec for startup costs" (section 6).
const START_UP: Duration = Duration::from_millis(10);

/// Returns the mean and the sample standard deviation.
pub(crate) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
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

/// Returns the nearest-rank percentile: the least value that so many of a hundred do not exceed.
pub(crate) fn percentile(values: &mut [u64], percent: usize) -> u64 {
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
    /// Adds a value by Welford's update, which does not lose digits.
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
