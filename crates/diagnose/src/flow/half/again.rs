//! What a half concludes when a segment is sent again.

use tinygram_stalls::thresholds::{LATE_ACK_NS, LEAST_TAIL_NS};
use tinygram_wire::decode::Gist;

use super::Half;
use super::resent::Resent;
use crate::flow::mark::Mark;

impl Half {
    /// Takes a retransmission into account. It may be needless if the segment is short, alone in flight, and repeated
    /// after a timer's time: perhaps the receiver delays ACKs for longer than this sender waits.
    pub(crate) fn send_again(&mut self, segment: &Gist, mark: Mark, mss: u32) {
        let after_ns = mark.time_ns - self.sent.time_ns;
        let alone = segment.seq == self.acked
            && segment.seq.wrapping_add(segment.payload) == self.next
            && segment.payload == self.flight;
        self.resent =
            (alone && segment.payload < mss && after_ns >= LEAST_TAIL_NS && !self.disturbed).then(
                || {
                    Box::new(Resent {
                        mark,
                        after_ns,
                        needlessly: false,
                    })
                },
            );
        self.tally.retransmitted += 1;
        self.disturbed = true;
        self.waited_flight = 0;
    }

    /// Notes a loss that the first block of a selective acknowledgment reports. If it is below the acknowledgment, it reports
    /// a duplicate instead: the retransmission was needless (RFC 2883, section 4).
    pub(crate) fn note_sack(&mut self, ack: u32, (_, end): (u32, u32)) {
        let twice = (ack.wrapping_sub(end) as i32) >= 0;
        match &mut self.resent {
            Some(resent) if twice => resent.needlessly = true,
            _ => {
                self.disturbed = true;
                self.resent = None;
            }
        }
    }

    /// Returns whether the last acknowledgment answers the retransmission.
    pub(crate) fn was_answered(&self, resent: &Resent) -> bool {
        let wait_ns = self.release.wait_ns - resent.after_ns;
        resent.mark.frame < self.release.mark.frame
            && wait_ns - self.receiver_distance_ns().unwrap_or(0) < LATE_ACK_NS
    }
}
