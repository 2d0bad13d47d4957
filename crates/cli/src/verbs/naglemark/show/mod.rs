//! The benchmark's results in the layouts of Mogul & Minshall's Tables 4-7 and Figures 7-12.
//!
//! One [`Panel`] is one medium measured with one kind of receiver, which is what one of the paper's
//! tables shows.

mod compared;
mod distance;
mod figures;
mod page;
mod panel;
mod rows;
mod scores;

use serde::Serialize;
use tinygram_naglemark::{Duration, Sample, Yardstick};
use tinygram_report::Line;

use super::ladders::Seen;
pub(super) use compared::{agreement, conditions, remarks};
pub(super) use page::{Contents, page};
pub(super) use rows::row;

/// The name and version of the JSON document.
pub(super) const SCHEMA: &str = "tinygram.naglemark/1";

/// A cell as in the document, in the CSV and in the tables. The fields have the document's order.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Record {
    /// The number of the paper's table with this cell, 4 to 7, if there is one.
    pub(super) table: Option<u8>,
    /// The backend: `sim`, or a real TCP.
    pub(super) backend: String,
    /// `ethernet`, `fddi`, `point-to-point`; for a real TCP `loopback`, `veth` and similar.
    pub(super) medium: String,
    /// The variant in the paper's spelling, or the policy's own name if the paper has none.
    pub(super) variant: String,
    /// The size of each write, bytes.
    pub(super) app_buffer: u64,
    /// The sender's socket buffer, bytes.
    pub(super) socket_buffer: u64,
    /// `s`, `S`, `r` or `R` (Table 2).
    pub(super) trial: char,
    /// The share of transfers above the cutoff, 0 to 100, as a mean over the repetitions.
    pub(super) score_percent: f64,
    /// Standard deviation of the score over the repetitions, in percentage points.
    pub(super) score_sd: f64,
    /// Data segments per transfer, retransmissions included.
    pub(super) segments_per_transfer: f64,
    /// Data segments below the MSS per transfer, if the stack counts them.
    pub(super) short_segments_per_transfer: Option<f64>,
    /// Mean elapsed time of a transfer, ms.
    pub(super) mean_elapsed_ms: f64,
    /// 99th percentile of the elapsed time, ms.
    pub(super) p99_elapsed_ms: f64,
    /// Slope of elapsed time over length by linear regression (section 8.1), ns per byte.
    pub(super) slope_ns_per_byte: f64,
    /// Data segments divided by the fewest that can carry the bytes; at least 1. Absent on real
    /// sockets, whose kernel hands segments of any size to the device.
    pub(super) segments_over_fewest: Option<f64>,
    /// Elapsed time divided by the time of sending each byte as soon as window and link allow; at
    /// least 1 except for the jitter of the hosts' costs. Absent on real sockets, whose link has no
    /// rate for a bound.
    pub(super) elapsed_over_earliest: Option<f64>,
    /// The trial type that the paper prints for these buffers (the worst of the four).
    pub(super) published_trial: Option<char>,
    /// The score that the paper prints for these buffers, in percent.
    pub(super) published_score_percent: Option<f64>,
}

/// The contents of one of the paper's tables: one medium, one kind of receiver.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// The title: `Table 4: scores for Ethernet (MSS = 1460)`, or without the number if the cells
    /// are not the paper's.
    pub(super) title: String,
    /// The cells, in any order; buffers keep the order of their first appearance.
    pub(super) cells: Vec<Record>,
    /// The lines beneath the scores: known mismatches, the distance from the published table.
    pub(super) notes: Vec<String>,
    /// The criterion of a delayed transfer in this panel.
    pub(super) yardstick: Yardstick,
    /// The longest delay of an acknowledgment by the receiver.
    pub(super) ack_delay: Duration,
    /// The single transfers of some cells, for the figures; may be empty.
    pub(super) traces: Vec<KeptTransfers>,
}

/// The single transfers of one repetition of one cell.
#[derive(Clone, Debug)]
pub(super) struct KeptTransfers {
    /// As in [`Record`].
    pub(super) variant: String,
    /// As in [`Record`], bytes.
    pub(super) app_buffer: u64,
    /// As in [`Record`], bytes.
    pub(super) socket_buffer: u64,
    /// As in [`Record`].
    pub(super) trial: char,
    /// The transfers in their order; of many, only every `every`th.
    pub(super) transfers: Vec<Sample>,
    /// How many transfers each one of `transfers` stands for.
    pub(super) every: usize,
    /// Some of them, segment by segment.
    pub(super) seen: Vec<Seen>,
}

/// The line that divides delayed transfers from others, in plots and notes.
#[derive(Clone, Copy, Debug)]
struct Cutoff {
    /// The estimated time of a transfer of length 0.
    startup_ms: f64,
    /// The reciprocal of the raw rate.
    ns_per_byte: f64,
    multiplier: f64,
}

impl Cutoff {
    fn of(yardstick: &Yardstick) -> Self {
        let rtt = yardstick.rtt;
        let startup = yardstick.estimate(0).as_nanos() - rtt.as_nanos();
        Self {
            startup_ms: startup as f64 / 1e6 + rtt.as_nanos() as f64 / 1e9 * 1e3,
            ns_per_byte: 8e9 / yardstick.medium.bits_per_second() as f64,
            multiplier: yardstick.multiplier.into(),
        }
    }

    /// Returns the time above which a transfer of `length` bytes counts as delayed.
    fn at_ms(self, length: u32) -> f64 {
        let estimate = self.startup_ms + f64::from(length) * self.ns_per_byte / 1e6;
        self.multiplier * estimate
    }

    /// Returns the length from which on the cutoff is above this time, in bytes.
    fn reaches(self, ms: f64) -> f64 {
        let per_byte_ms = self.ns_per_byte / 1e6;
        ((ms / self.multiplier - self.startup_ms) / per_byte_ms).max(0.0)
    }

    /// Returns the estimate and the cutoff; the cutoff is last.
    fn lines(self) -> Vec<Line> {
        let line = |name: String, multiplier: f64, dashed| Line {
            name,
            at_zero: multiplier * self.startup_ms,
            slope: multiplier * self.ns_per_byte / 1e6,
            dashed,
        };
        vec![
            line("estimate".into(), 1.0, false),
            line(
                format!("cutoff (x {})", self.multiplier),
                self.multiplier,
                true,
            ),
        ]
    }
}

/// Returns the elapsed time for a point of a chart: whole microseconds, in milliseconds.
fn elapsed_ms(sample: &Sample) -> f64 {
    (sample.elapsed.as_nanos() / 1000) as f64 / 1e3
}

impl Panel {
    /// Returns the variants, best first: by increasing worst score as printed, then by name.
    pub(super) fn ranking(&self) -> Vec<&str> {
        let mut ranked: Vec<(i64, &str)> = distinct(self.cells.iter().map(|c| c.variant.as_str()))
            .into_iter()
            .map(|variant| {
                (
                    self.worst(|c| c.variant == variant).map_or(0, printed),
                    variant,
                )
            })
            .collect();
        ranked.sort();
        ranked.into_iter().map(|(_, variant)| variant).collect()
    }

    /// Returns the chosen cell with the highest printed score; of equal ones the first in the order
    /// S, s, R, r.
    fn worst(&self, chosen: impl Fn(&Record) -> bool) -> Option<&Record> {
        self.cells
            .iter()
            .filter(|cell| chosen(cell))
            .max_by_key(|cell| (printed(cell), std::cmp::Reverse(TIE_ORDER.find(cell.trial))))
    }

    /// Returns the buffers measured: each application buffer with its socket buffers.
    fn buffers(&self) -> Vec<(u64, u64)> {
        let apps = distinct(self.cells.iter().map(|c| c.app_buffer));
        let sockets = distinct(self.cells.iter().map(|c| c.socket_buffer));
        let pairs = apps
            .iter()
            .flat_map(|&a| sockets.iter().map(move |&s| (a, s)));
        pairs
            .filter(|&(a, s)| {
                self.cells
                    .iter()
                    .any(|c| c.app_buffer == a && c.socket_buffer == s)
            })
            .collect()
    }
}

/// Returns the score in tenths of a percent, as the tables print it, so that cells that look equal
/// are equal.
fn printed(cell: &Record) -> i64 {
    (cell.score_percent * 10.0).round() as i64
}

/// Keeps the first of equal items, in order.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// The backend whose link is known exactly, so that nothing can be better than its bounds.
const SIMULATED: &str = "sim";

/// The order in which the tables name cells of equal scores.
const TIE_ORDER: &str = "SsRr";

#[cfg(test)]
mod tests;
