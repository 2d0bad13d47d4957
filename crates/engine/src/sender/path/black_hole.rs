//! Path MTU black holes: paths that drop large segments without a word (RFC 4821, section 7.7; RFC
//! 8899, section 4.3). After repeated timeouts of a large segment, smaller ones are tried.
//! [`super::search`] finds what the path takes.

use super::Path;
use crate::extensions::PathMtuSearch;

/// Timeouts in a row that make a path suspicious (RFC 9293, section 3.8.3: R1, at least three).
const SUSPICIOUS: u32 = 3;
/// The sizes tried, if no search has its own to begin with: the one that RFC 4821, section 7.2, starts
/// with, and the one that every host accepts (RFC 9293, section 3.7.1).
const STEPS: [u32; 2] = [PathMtuSearch::AFTER_A_BLACK_HOLE.base_mss, 536];

impl Path {
    /// Handles the expiry of the retransmission timer for the `timeouts`-th time in a row, while
    /// `unacknowledged` octets were written and not acknowledged.
    pub(crate) fn suspect_a_black_hole(&mut self, timeouts: u32, unacknowledged: u64) {
        if !self.black_hole_detection || timeouts < SUSPICIOUS {
            return;
        }
        let first = unacknowledged.min(u64::from(self.mss));
        let base = self.search.as_ref().map(|search| search.base_mss());
        let steps = [base.unwrap_or(STEPS[0]), STEPS[1]];
        let smaller = steps.into_iter().find(|step| u64::from(*step) < first);
        if let Some(mss) = smaller {
            self.mss = mss;
            if let Some(search) = &mut self.search {
                search.fell_to(mss + self.option_octets);
            }
            // A router's report that expires must not bring the large segments back.
            self.limit = None;
        }
    }
}
