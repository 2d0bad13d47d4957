//! The naglemark: cells in, the layouts of Mogul & Minshall's Tables 4-7 and Figures 7-12 out.
//!
//! The adapter that runs the benchmark fills [`Panel`]s; one panel is one medium measured with one
//! kind of receiver, which is what one of the paper's tables shows.

mod distance;
mod figures;
mod page;
mod scores;

use serde::Serialize;

pub(crate) use page::{Contents, page};

/// The name and version of the JSON document.
pub(crate) const SCHEMA: &str = "tinygram.naglemark/1";

/// One measured cell: a variant, an application buffer, a socket buffer and a trial type, on one
/// medium. The field order is that of the JSON document and the CSV columns.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cell {
    /// The paper's table that holds this cell, 4 to 7, if one does.
    pub(crate) table: Option<u8>,
    /// What was measured: `sim`, or a TCP that is real.
    pub(crate) backend: String,
    /// `ethernet`, `fddi`, `point-to-point`; `loopback`, `veth` and the like where it is real.
    pub(crate) medium: String,
    /// The paper's spelling, or the policy's own name where the paper has none.
    pub(crate) variant: String,
    /// The size of each write, bytes.
    pub(crate) app_buffer: u64,
    /// The sender's socket buffer, bytes.
    pub(crate) socket_buffer: u64,
    /// `s`, `S`, `r` or `R` (Table 2).
    pub(crate) trial: char,
    /// Share of transfers above the cutoff, 0 to 100, the mean over the repetitions.
    pub(crate) score_percent: f64,
    /// Standard deviation of the score over the repetitions, in percentage points.
    pub(crate) score_sd: f64,
    /// Data segments per transfer, retransmissions included.
    pub(crate) segments_per_transfer: f64,
    /// Data segments below the MSS, per transfer, where the stack counts them.
    pub(crate) short_segments_per_transfer: Option<f64>,
    /// Mean elapsed time of a transfer, ms.
    pub(crate) mean_elapsed_ms: f64,
    /// 99th percentile of the elapsed time, ms.
    pub p99_elapsed_ms: f64,
    /// Slope of elapsed time over length by linear regression (section 8.1), ns per byte.
    pub(crate) slope_ns_per_byte: f64,
    /// Data segments over the fewest that carry the bytes; at least 1.
    pub(crate) segments_over_fewest: f64,
    /// Elapsed time over that of sending each byte as soon as window and link allow; at least 1
    /// but for the jitter of the host's costs.
    pub(crate) elapsed_over_earliest: f64,
    /// The trial type the paper printed for these buffers (the worst of the four).
    pub(crate) published_trial: Option<char>,
    /// The score the paper printed for these buffers, percent.
    pub(crate) published_score_percent: Option<f64>,
}

/// What one of the paper's tables shows: one medium, one kind of receiver.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// `Table 4: scores for Ethernet (MSS = 1460)`, or without the number where the cells are not
    /// the paper's.
    pub(crate) title: String,
    /// In any order; buffers keep the order of their first appearance.
    pub(crate) cells: Vec<Cell>,
    /// Lines beneath the scores: known mismatches, the distance from the published table.
    pub(crate) notes: Vec<String>,
    /// What a delayed transfer is, for this panel.
    pub(crate) yardstick: Yardstick,
    /// Single transfers of some cells, for the figures; may be empty.
    pub(crate) traces: Vec<Trace>,
}

/// The paper's score (section 6): a transfer is delayed if it took longer than `multiplier` times
/// the estimate, which is the length at the raw rate plus a start-up cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Yardstick {
    /// Start-up costs, ms; the paper's 10.
    pub(crate) startup_ms: f64,
    /// The raw rate's reciprocal, ns per byte.
    pub(crate) ns_per_byte: f64,
    /// 3 in the paper's tables; it tried 2 and 4 as well.
    pub(crate) multiplier: f64,
}

/// The single transfers of one repetition of one cell.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    /// As in [`Cell`].
    pub(crate) variant: String,
    /// As in [`Cell`], bytes.
    pub(crate) app_buffer: u64,
    /// As in [`Cell`], bytes.
    pub(crate) socket_buffer: u64,
    /// As in [`Cell`].
    pub(crate) trial: char,
    /// In the order they were made.
    pub(crate) transfers: Vec<Transfer>,
}

/// One transfer: how long, and how long it took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// The response's length, bytes.
    pub(crate) length: u64,
    /// From sending the request to receiving the last byte, at the client, microseconds.
    pub(crate) elapsed_us: u64,
}

impl Yardstick {
    /// The necessary time for `length` bytes, ms.
    pub(crate) fn estimate_ms(&self, length: u64) -> f64 {
        self.startup_ms + length as f64 * self.ns_per_byte / 1e6
    }

    /// Above this a transfer of `length` bytes counts as delayed, ms.
    pub(crate) fn cutoff_ms(&self, length: u64) -> f64 {
        self.multiplier * self.estimate_ms(length)
    }
}

impl Panel {
    /// The variants, best first: by increasing worst score as printed, then by name.
    pub(crate) fn ranking(&self) -> Vec<&str> {
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

    /// The cell with the highest printed score among those chosen; the first in the order
    /// S, s, R, r if several are equal.
    fn worst(&self, chosen: impl Fn(&Cell) -> bool) -> Option<&Cell> {
        self.cells
            .iter()
            .filter(|cell| chosen(cell))
            .max_by_key(|cell| (printed(cell), std::cmp::Reverse(TIE_ORDER.find(cell.trial))))
    }

    /// The buffers measured: each application buffer with its socket buffers.
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

/// The score in tenths of a percent, as the tables print it: two cells that look equal are equal.
fn printed(cell: &Cell) -> i64 {
    (cell.score_percent * 10.0).round() as i64
}

/// Keeps the first of equals, in order.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// Of equal scores the tables name the first of these.
const TIE_ORDER: &str = "SsRr";

#[cfg(test)]
mod tests;
