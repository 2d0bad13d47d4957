//! The first rounds of a connection: how its congestion window opened.

use tinygram_stalls::thresholds::{SECOND_ROUND_MOST, THIRD_ROUND_MOST};

/// How many segments left between the connection's first acknowledgments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rounds {
    /// Segments of each of the first rounds.
    pub(crate) opening: [u8; 4],
    /// Rounds so far, up to four.
    count: u8,
    /// Segments since the last acknowledgment.
    since_ack: u8,
    /// Its SYN was sent again, so that its congestion window begins with one segment (RFC 5681, section 3.1).
    pub(crate) opened_again: bool,
}

impl Rounds {
    /// Counts segments that were sent.
    #[inline]
    pub(super) fn sent(&mut self, segments: u32) {
        self.since_ack = self.since_ack.saturating_add(segments.min(255) as u8);
    }

    /// Ends a round at an acknowledgment: what was sent since the one before was sent upon that.
    #[inline]
    pub(super) fn acknowledged(&mut self) {
        if self.since_ack == 0 {
            return;
        }
        if let Some(place) = self.opening.get_mut(usize::from(self.count)) {
            *place = self.since_ack;
            self.count += 1;
        }
        self.since_ack = 0;
    }

    /// Returns whether the connection began with a congestion window of one segment that slow start opened: one left
    /// upon nothing, two upon its ACK, and no more than some upon each of the next.
    pub(crate) fn grew_from_one(&self) -> bool {
        let [first, second, third, _] = self.opening;
        first == 1
            && (2..=SECOND_ROUND_MOST).contains(&second)
            && (1..=THIRD_ROUND_MOST).contains(&third)
    }

    /// Returns whether one segment left upon nothing, and no round has gone by since but for the one under way.
    pub(crate) fn begin_with_one(&self) -> bool {
        self.opening[0] == 1 && self.count <= 2
    }
}
