//! What was seen while the command ran.

use std::process::ExitStatus;

use tinygram_stalls::Case;
use tinygram_watch::seen::Seen;

/// A stall of the command's connections, or several alike.
pub(super) struct Stall {
    /// A sentence about it.
    pub(super) said: String,
    /// The number of stalls it stands for.
    pub(super) times: u64,
    /// How long they lasted together, in nanoseconds.
    pub(super) cost_ns: i64,
    /// The case on which advice depends.
    pub(super) case: Case,
    /// The line of the write, if known; from the preloaded library all lines where the process writes: it may be any.
    pub(super) places: Vec<(String, u32)>,
    /// Whether some were written by an unknown call.
    pub(super) elsewhere: bool,
}

/// What was seen while the command ran.
pub(super) struct Looked {
    pub(super) status: ExitStatus,
    pub(super) stalls: Vec<Stall>,
    /// Holds that the writing thread did not wait for.
    pub(super) apart: u64,
    /// Holds that a prompt acknowledgment or a late reader ended, and no timer of delayed
    /// acknowledgments.
    pub(super) prompt: u64,
    /// Short writes that a slower acknowledgment would have held; not known by some sources.
    pub(super) slower: Option<u64>,
    /// How much was seen.
    pub(super) seen: Seen,
    /// Connections whose segments are not in `seen`, because they could not be read.
    pub(super) segments_unknown: u64,
    /// The source, in words.
    pub(super) way: String,
    /// The reason why something may have been missed.
    pub(super) blind: Option<String>,
}

/// What a recorded run shows when it is judged again.
pub(super) struct Replayed {
    pub(super) stalls: Vec<Stall>,
    /// As [`Looked::apart`].
    pub(super) apart: u64,
    /// As [`Looked::prompt`].
    pub(super) prompt: u64,
    /// Whether the last record was cut off, and dropped.
    pub(super) is_cut: bool,
}

/// Returns the sentence about a stall, with the number of times that it happened.
pub(super) fn in_words(stall: &Stall) -> String {
    match stall.times {
        1 => stall.said.clone(),
        times => format!(
            "{} ({times} times, {:.0} ms in all)",
            stall.said,
            stall.cost_ns as f64 / 1e6
        ),
    }
}
