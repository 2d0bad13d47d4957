//! Flights that leave one after the other, each right upon the acknowledgment of the one before: a small
//! buffer's. Whatever is written, no more is ever in flight.

use tinygram_stalls::thresholds::{CHAINED_FLIGHTS, LEAST_BUFFER};

/// Sizes of flights, and how often in this turn one of a size seen before was acknowledged promptly and
/// the next left right upon that. Where a buffer and segments do not go into each other, two sizes take
/// turns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// The last two sizes, in bytes.
    sizes: [u32; 2],
    /// Those that came often enough, in bytes.
    chained: [u32; 2],
    times: u8,
}

impl Chain {
    /// Begins a turn: what is sent from now on is sent for another reason than before.
    #[inline]
    pub(super) fn begin_turn(&mut self) {
        self.times = 0;
    }

    /// Notes that a flight begins behind one of this size: whether the acknowledgment of that flight alone `let_go` the
    /// new one, and whether it was `delayed`.
    #[inline]
    pub(super) fn note(&mut self, flight: u32, let_go: bool, delayed: bool) {
        match (let_go, self.sizes.contains(&flight)) {
            (true, true) => self.times = self.times.saturating_add(u8::from(!delayed)),
            (true, false) => {
                self.sizes = [self.sizes[1], flight];
                self.times /= 2;
            }
            // A busy host does something else now and then.
            (false, _) => self.times /= 2,
        }
        if self.times >= CHAINED_FLIGHTS {
            self.chained = self.sizes;
        }
    }

    /// Returns whether flights of this size leave one after the other, each right upon the acknowledgment of the one
    /// before.
    ///
    /// What was `held` behind it must be a flight of theirs, too: the short end of a message is Nagle's.
    pub(super) fn has(&self, flight: u32, held: u32, mss: u32) -> bool {
        let is_one = |octets: u32| self.chained.contains(&octets);
        // Less is what a program writes, one piece for each ACK under Nagle's algorithm.
        flight >= mss.min(LEAST_BUFFER) && is_one(flight) && (held >= mss || is_one(held))
    }
}
