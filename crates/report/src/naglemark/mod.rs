//! The naglemark: cells in, the layouts of Mogul & Minshall's Tables 4-7 and Figures 7-12 out.
//!
//! The adapter that runs the benchmark fills [`Panel`]s; one panel is one medium measured with one
//! kind of receiver, which is what one of the paper's tables shows.

mod distance;
mod figures;
mod page;
mod scores;

use serde::Serialize;

pub use page::{Contents, page};

/// The name and version of the JSON document.
pub const SCHEMA: &str = "tinygram.naglemark/1";

/// One measured cell: a variant, an application buffer, a socket buffer and a trial type, on one
/// medium. The field order is that of the JSON document and the CSV columns.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The paper's table that holds this cell, 4 to 7, if one does.
    pub table: Option<u8>,
    /// What was measured: `sim`, or a TCP that is real.
    pub backend: String,
    /// `ethernet`, `fddi`, `point-to-point`; `loopback`, `veth` and the like where it is real.
    pub medium: String,
    /// The paper's spelling, or the policy's own name where the paper has none.
    pub variant: String,
    /// The size of each write, bytes.
    pub app_buffer: u64,
    /// The sender's socket buffer, bytes.
    pub socket_buffer: u64,
    /// `s`, `S`, `r` or `R` (Table 2).
    pub trial: char,
    /// Share of transfers above the cutoff, 0 to 100, the mean over the repetitions.
    pub score_percent: f64,
    /// Standard deviation of the score over the repetitions, in percentage points.
    pub score_sd: f64,
    /// Data segments per transfer, retransmissions included.
    pub segments_per_transfer: f64,
    /// Data segments below the MSS, per transfer, where the stack counts them.
    pub short_segments_per_transfer: Option<f64>,
    /// Mean elapsed time of a transfer, ms.
    pub mean_elapsed_ms: f64,
    /// 99th percentile of the elapsed time, ms.
    pub p99_elapsed_ms: f64,
    /// Slope of elapsed time over length by linear regression (section 8.1), ns per byte.
    pub slope_ns_per_byte: f64,
    /// Data segments over the fewest that carry the bytes; at least 1.
    pub segments_over_fewest: f64,
    /// Elapsed time over that of sending each byte as soon as window and link allow; at least 1
    /// but for the jitter of the host's costs.
    pub elapsed_over_earliest: f64,
    /// The trial type the paper printed for these buffers (the worst of the four).
    pub published_trial: Option<char>,
    /// The score the paper printed for these buffers, percent.
    pub published_score_percent: Option<f64>,
}

/// What one of the paper's tables shows: one medium, one kind of receiver.
#[derive(Clone, Debug)]
pub struct Panel {
    /// `Table 4: scores for Ethernet (MSS = 1460)`, or without the number where the cells are not
    /// the paper's.
    pub title: String,
    /// In any order; buffers keep the order of their first appearance.
    pub cells: Vec<Cell>,
    /// Lines beneath the scores: known mismatches, the distance from the published table.
    pub notes: Vec<String>,
    /// What a delayed transfer is, for this panel.
    pub yardstick: Yardstick,
    /// Single transfers of some cells, for the figures; may be empty.
    pub traces: Vec<Trace>,
}

/// The paper's score (section 6): a transfer is delayed if it took longer than `multiplier` times
/// the estimate, which is the length at the raw rate plus a start-up cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Yardstick {
    /// Start-up costs, ms; the paper's 10.
    pub startup_ms: f64,
    /// The raw rate's reciprocal, ns per byte.
    pub ns_per_byte: f64,
    /// 3 in the paper's tables; it tried 2 and 4 as well.
    pub multiplier: f64,
}

/// The single transfers of one repetition of one cell.
#[derive(Clone, Debug)]
pub struct Trace {
    /// As in [`Cell`].
    pub variant: String,
    /// As in [`Cell`], bytes.
    pub app_buffer: u64,
    /// As in [`Cell`], bytes.
    pub socket_buffer: u64,
    /// As in [`Cell`].
    pub trial: char,
    /// In the order they were made.
    pub transfers: Vec<Transfer>,
}

/// One transfer: how long, and how long it took.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The response's length, bytes.
    pub length: u64,
    /// From sending the request to receiving the last byte, at the client, microseconds.
    pub elapsed_us: u64,
}

impl Yardstick {
    /// The necessary time for `length` bytes, ms.
    pub fn estimate_ms(&self, length: u64) -> f64 {
        self.startup_ms + length as f64 * self.ns_per_byte / 1e6
    }

    /// Above this a transfer of `length` bytes counts as delayed, ms.
    pub fn cutoff_ms(&self, length: u64) -> f64 {
        self.multiplier * self.estimate_ms(length)
    }
}

impl Panel {
    /// The variants, best first: by increasing worst score as printed, then by name.
    pub fn ranking(&self) -> Vec<&str> {
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
