//! The packet numbers of a sender (IPv4's identification). If they go up by one, a gap shows that
//! packets were sent and not recorded. RFC 6864 gives the numbers no meaning in packets that are
//! not fragments; Linux counts them per connection.

use tinygram_stalls::thresholds::NUMBER_STEPS;

/// The packet numbers of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    next: u16,
    in_step: u8,
    out_of_step: u8,
    /// Packets are missing since the sender's last data.
    gap: bool,
    /// Packets are missing right before the last one.
    skipped: bool,
}

impl Numbers {
    /// Notes a frame that was `packets` packets on the wire.
    #[inline]
    pub(crate) fn note(&mut self, identification: u16, packets: u16) {
        let ahead = identification.wrapping_sub(self.next) as i16;
        self.skipped = false;
        if ahead == 0 {
            self.in_step = self.in_step.saturating_add(1);
        } else {
            let counts = self.counts();
            self.skipped = ahead > 0 && counts;
            self.gap |= counts;
            // The number of a SYN may be unrelated to those that follow.
            self.out_of_step = self.out_of_step.saturating_add(u8::from(self.in_step > 0));
        }
        self.next = identification.wrapping_add(packets);
    }

    /// Starts looking for a gap again.
    pub(crate) const fn sent_data(&mut self) {
        self.gap = false;
    }

    /// Returns whether the sender has sent packets since its last data that were not recorded.
    pub(crate) const fn tell_of_missing(&self) -> bool {
        self.gap
    }

    /// Returns whether packets that the sender sent right before the last one were not recorded.
    pub(crate) const fn skip(&self) -> bool {
        self.skipped
    }

    /// Returns whether the numbers go up by one. They do not if a host counts the packets of all
    /// its connections together, draws the numbers at random, or leaves them at zero.
    const fn counts(&self) -> bool {
        self.in_step >= NUMBER_STEPS && self.in_step / 2 >= self.out_of_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u16]) -> Numbers {
        let mut seen = Numbers::default();
        for number in numbers {
            seen.note(*number, 1);
        }
        seen
    }

    #[test]
    fn a_jump_of_a_sender_that_counts_tells_of_a_missing_packet() {
        let mut seen = after(&[7, 8, 9, 10, 11, 13]);
        assert!(seen.tell_of_missing());
        seen.sent_data();
        assert!(!seen.tell_of_missing());
    }

    #[test]
    fn only_a_jump_ahead_tells_what_is_missing_before_a_packet() {
        assert!(after(&[7, 8, 9, 10, 11, 13]).skip());
        assert!(!after(&[7, 8, 9, 10, 11, 13, 14]).skip());
        // One that was overtaken.
        assert!(!after(&[7, 8, 9, 10, 12, 11]).skip());
    }

    #[test]
    fn packets_of_several_segments_take_as_many_numbers() {
        let mut seen = after(&[7, 8, 9, 10]);
        seen.note(11, 3);
        seen.note(14, 1);
        assert!(!seen.tell_of_missing());
    }

    #[test]
    fn numbers_without_order_tell_nothing() {
        assert!(!after(&[0, 0, 0, 0, 0, 0]).tell_of_missing());
        assert!(!after(&[7, 900, 31, 8, 60, 12, 400]).tell_of_missing());
    }
}
