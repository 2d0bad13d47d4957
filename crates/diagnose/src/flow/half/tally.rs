//! What is counted of one direction over the life of its connection.

use tinygram_stalls::thresholds::LONG_RUN;

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Tally {
    /// Pure acknowledgments of this data and the MSS-sized units they covered.
    pub(crate) acks: u32,
    pub(crate) acked_segments: u32,
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
    pub(crate) short: u32,
    /// Turns begun after the peer spoke, and on the sender's own clock.
    pub(crate) answers: u32,
    pub(crate) self_clocked: u32,
    /// Time from the peer's last data to the answers to it, beyond the round trip if a handshake has measured that.
    pub(crate) answer_ns: i64,
    /// Short segments that could have shared one with the previous; and runs of them.
    pub(crate) mergeable: u32,
    pub(crate) runs: u32,
    pub(crate) mergeable_bytes: u64,
    /// How many followed each other so in the run under way.
    run: u32,
    pub(crate) delayed_acks: u32,

    // Here another cache line begins: what happens seldom.
    /// Of the long runs the short segments, and their bytes.
    pub(crate) in_long_runs: u32,
    pub(crate) retransmitted: u32,
    pub(crate) long_run_bytes: u64,
    /// Of these the short ones that were alone in flight, and upon whose ACK new data left at once.
    pub(crate) overtaken: u32,
    /// Short segments sent while a short one was unacknowledged: neither Nagle nor Minshall.
    pub(crate) defied: u32,
    /// Short segments sent while only full ones were: Minshall, or BSD's idle per pass.
    pub(crate) past_full: u32,
    /// Gaps in what the capture has of this direction.
    pub(crate) missed: u32,
}

impl Tally {
    /// Returns whether this sender has answered several times and never spoke unasked.
    pub(crate) fn takes_turns(&self) -> bool {
        self.answers >= 2 && self.never_unasked()
    }

    /// Returns whether this sender has answered and never spoke unasked.
    pub(crate) fn never_unasked(&self) -> bool {
        self.answers >= 1 && self.self_clocked == 0
    }

    /// Returns how long an answer takes on average, in nanoseconds; 0 if there was none.
    pub(crate) fn mean_answer_ns(&self) -> i64 {
        self.answer_ns / i64::from(self.answers.max(1))
    }

    /// Counts a short segment, which could have shared one with the short segment before if it `shares`.
    #[inline]
    pub(super) fn note_piece(&mut self, len: u32, shares: bool) {
        if !shares {
            self.run = 0;
            self.runs += 1;
            return;
        }
        self.mergeable += 1;
        self.mergeable_bytes += u64::from(len);
        self.run += 1;
        if self.run >= LONG_RUN {
            let begun = if self.run == LONG_RUN { LONG_RUN } else { 1 };
            self.in_long_runs += begun;
            self.long_run_bytes += u64::from(begun * len);
        }
    }
}
