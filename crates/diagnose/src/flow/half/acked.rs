//! What a half takes down of an acknowledgment.

use tinygram_engine::Flags;
use tinygram_stalls::thresholds::{LATE_ACK_NS, LONGEST_DELAY_NS};
use tinygram_wire::decode::Gist;

use super::numeric::{is_whole, saturate};
use super::{Half, Release};
use crate::flow::mark::Mark;

impl Half {
    /// Takes an acknowledgment of the peer's into account.
    #[inline]
    pub(crate) fn on_ack(&mut self, segment: &Gist, mark: Mark, peer_window: u32, mss: u32) {
        let ack = segment.ack;
        if !self.seen {
            // The capture begins here: what is acknowledged was sent before.
            (self.next, self.acked, self.seen) = (ack, ack, true);
            self.short_end = ack;
            return;
        }
        let advance = ack.wrapping_sub(self.acked) as i32;
        if advance <= 0 {
            return;
        }
        if (ack.wrapping_sub(self.next) as i32) > 0 {
            // The capture missed what is acknowledged.
            self.next = ack;
            self.tally.missed += 1;
            self.disturbed = true;
        }
        let room = self
            .acked
            .wrapping_add(peer_window)
            .wrapping_sub(self.next)
            .min(peer_window);
        self.rounds.acknowledged();
        let short_open = (self.short_end.wrapping_sub(self.acked) as i32) > 0;
        let short_acked = short_open && (self.short_end.wrapping_sub(ack) as i32) <= 0;
        self.acked = ack;
        let wait_ns = mark.time_ns - self.sent.time_ns;
        let whole = ack == self.next && self.sent.frame != 0;
        // Two ACKs within one flight, behind its last segment: as fast as the link carries it.
        if self.release.mark.frame > self.sent.frame && !self.release.whole && !whole {
            let since_ns = mark.time_ns - self.release.mark.time_ns;
            self.path.carried(advance.into(), since_ns);
        }
        if short_acked && segment.payload == 0 {
            self.short.acked = mark;
        }
        let in_parts = self.release.mark.frame > self.sent.frame && !self.release.whole;
        if !in_parts {
            self.part_ns = mark.time_ns;
        }
        let since_part_ns = mark.time_ns - self.part_ns;
        let pure = whole && segment.payload == 0 && !segment.flags().any(Flags::SYN | Flags::FIN);
        let carried_ns = self.path.carries_ns(advance.into());
        let step_ns = match in_parts {
            true => mark.time_ns - self.release.mark.time_ns - carried_ns,
            false => 0,
        };
        self.before_release_ns = self.release.mark.time_ns;
        self.release = Release {
            mark,
            wait_ns,
            step_ns,
            room,
            stamp: segment.timestamps().map(|t| t.value),
            pure,
            whole,
            short: short_acked && !whole && segment.payload == 0,
        };
        if whole && !self.disturbed {
            // The odd segment of a flight may wait, and a short one; what covers two full may not.
            let two = advance.unsigned_abs() >= 2 * mss && is_whole(self.last_len, mss);
            self.path.acknowledged(wait_ns, two);
        }
        if pure {
            self.note_pure_ack(wait_ns);
        }
        if whole {
            self.released_flight = self.flight;
            self.released_in_parts_ns = if in_parts { saturate(since_part_ns) } else { 0 };
            (self.flight, self.flight_segments) = (0, 0);
            self.released_grew = std::mem::take(&mut self.flight_grew);
        }
    }

    /// Notes an ACK without data that acknowledges all that is in flight.
    fn note_pure_ack(&mut self, wait_ns: i64) {
        self.tally.acks += 1;
        self.tally.acked_segments += self.flight_segments;
        let path_ns = match self.path.is_measured() {
            true => self.receiver_distance_ns().unwrap_or(0),
            false => 0,
        };
        if (LATE_ACK_NS..LONGEST_DELAY_NS).contains(&(wait_ns - path_ns)) && !self.finished {
            self.tally.delayed_acks += 1;
            self.path.delayed(wait_ns);
        }
    }
}
