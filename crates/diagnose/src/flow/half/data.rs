//! What a half takes down of a new data segment.

use std::cmp::Ordering;

use tinygram_engine::Flags;
use tinygram_stalls::thresholds::{MERGE_NS, PROBE_ALONE_NS, PROBE_LEAST_NS, RTO_MIN_NS};
use tinygram_wire::decode::Gist;

use super::numeric::is_whole;
use super::{Half, ShortOne};
use crate::flow::mark::Mark;

impl Half {
    /// Takes a new data segment into the account; the verdicts on its timing come before.
    ///
    /// What reaches half of the receiver's window at its largest is let go by every rule (RFC 9293,
    /// section 3.8.6.2.1).
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        segment: &Gist,
        mark: Mark,
        mss: u32,
        half_window: u32,
        sender_distance_ns: Option<i64>,
    ) {
        let len = segment.payload;
        let short = len < mss;
        self.sent_again = self.comes_again(mark.time_ns);
        if self.acked != self.next && !self.disturbed {
            let gap_ns = mark.time_ns - self.sent.time_ns;
            self.flight_grew |= self.link.follows(gap_ns, len, sender_distance_ns);
        }
        let tally = &mut self.tally;
        tally.bytes += u64::from(len);
        tally.segments += 1;
        if self.acked == self.next {
            self.flight_defied = false;
            self.probed = false;
            self.urgent = false;
        }
        self.urgent |= segment.flags().any(Flags::URG);
        if short {
            tally.short += 1;
            self.note_short(segment, mark, mss, half_window, sender_distance_ns);
        }
        self.next = segment.seq.wrapping_add(len);
        if short || !is_whole(len, mss) {
            self.short_end = self.next;
            self.short = ShortOne {
                sent: mark,
                acked: Mark::default(),
                len,
            };
        }
        self.flight = self.flight.saturating_add(len);
        let segments = match len <= mss {
            true => 1,
            false => len.div_ceil(mss),
        };
        self.flight_segments += segments;
        self.rounds.sent(segments);
        match len.cmp(&self.max_len) {
            Ordering::Greater => (self.max_len, self.max_seen) = (len, 1),
            Ordering::Equal => self.max_seen = self.max_seen.saturating_add(1),
            Ordering::Less => {}
        }
        if let (Some(stamps), Some(stamp)) = (segment.timestamps(), self.release.stamp) {
            self.echoes_acks |=
                stamps.echo == stamp && (stamp.wrapping_sub(self.data_stamp) as i32) > 0;
        }
        self.head = segment.head;
        let open = self.next.wrapping_sub(self.acked);
        self.peak_flight = self.peak_flight.max(open);
        if self.restarted || self.tally.bytes == u64::from(self.flight) {
            self.peak_opening = self.peak_opening.max(open);
        }
        self.last_len = len;
        self.turns.heard_to = segment.ack;
        self.sent = mark;
        self.pushed = segment.flags().any(Flags::PSH);
        self.marks_pushes |= self.pushed;
        self.timestamps |= segment.timestamps().is_some();
        self.turns.sent();
        self.disturbed = false;
        self.numbers.sent_data();
    }

    /// Returns whether what comes now was sent before: its sender waited for a retransmission timeout, and its packet
    /// numbers tell of packets right before it that were lost on their way to the capture point.
    #[inline]
    fn comes_again(&self, now_ns: i64) -> bool {
        let last_ns = self.sent.time_ns.max(self.release.mark.time_ns);
        self.numbers.skip() && self.idle() && now_ns - last_ns >= RTO_MIN_NS
    }

    /// Notes what a short segment tells of the sender's policy, and whether it could have shared a segment with the one
    /// before.
    #[inline]
    fn note_short(
        &mut self,
        segment: &Gist,
        mark: Mark,
        mss: u32,
        half_window: u32,
        sender_distance_ns: Option<i64>,
    ) {
        // Neither rule holds a FIN back, or urgent data and what follows it.
        let exempt = segment.flags().any(Flags::FIN)
            || self.urgent
            || self.disturbed
            || (half_window > 0 && segment.payload >= half_window);
        if self.acked != self.next && !exempt {
            match (self.short_end.wrapping_sub(self.acked) as i32) > 0 {
                true if self.may_probe(mark.time_ns, sender_distance_ns) => self.probed = true,
                true => {
                    self.tally.defied += 1;
                    self.flight_defied = true;
                }
                false => self.tally.past_full += 1,
            }
        }
        let gap_ns = mark.time_ns - self.sent.time_ns;
        // Answers to requests that came one after the other cannot be gathered.
        let shares = !self.turns.peer_between
            && !self.turns.owes()
            && gap_ns < MERGE_NS
            && (1..mss).contains(&self.last_len)
            && self.last_len + segment.payload <= mss;
        self.tally.note_piece(segment.payload, shares);
    }

    /// Returns whether what leaves now may be a tail loss probe, which takes new data, and also data that a rule holds
    /// (RFC 8985, section 7.3; Linux, tcp_send_loss_probe). It comes two smoothed round trips after the last segment or
    /// acknowledgment at the soonest, and once for a flight.
    fn may_probe(&self, now_ns: i64, sender_distance_ns: Option<i64>) -> bool {
        let last_ns = self.sent.time_ns.max(self.release.mark.time_ns);
        let round_trip_ns =
            self.receiver_distance_ns().unwrap_or(0) + sender_distance_ns.unwrap_or(0);
        let least_ns = match self.flight_segments {
            ..2 => PROBE_ALONE_NS,
            _ => PROBE_LEAST_NS,
        };
        !self.probed && now_ns - last_ns >= 2 * round_trip_ns + least_ns
    }
}

#[cfg(test)]
mod tests;
