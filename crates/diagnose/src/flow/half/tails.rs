//! Tails that nothing but a timer can have let go.

use tinygram_stalls::thresholds::{LEAST_TAIL_NS, LONGEST_TAIL_NS, SAME_TAIL_NS, SAME_TAILS};

use super::numeric::saturate;

/// How long they waited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tails {
    /// How long the last one waited, in nanoseconds.
    tail_ns: u32,
    /// How many in a row waited as long as the one before.
    pub(crate) in_a_row: u8,
}

impl Tails {
    /// Notes a tail that waited so long, and that no ACK released. Returns true if it is one of several in a row for
    /// which a timer of one length ran.
    pub(crate) fn note(&mut self, waited_ns: i64) -> bool {
        if !(LEAST_TAIL_NS..LONGEST_TAIL_NS).contains(&waited_ns) {
            return false;
        }
        let same = (waited_ns - i64::from(self.tail_ns)).abs() < SAME_TAIL_NS;
        self.in_a_row = match same {
            true => self.in_a_row.saturating_add(1),
            false => 0,
        };
        self.tail_ns = saturate(waited_ns);
        self.in_a_row >= SAME_TAILS
    }
}
