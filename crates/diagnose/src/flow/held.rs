//! What becomes of a segment that was held: the connection completes it, counts it and reports it.

use tinygram_engine::Flags;
use tinygram_stalls::thresholds::LEAST_FULL_BYTES;
use tinygram_wire::decode::Gist;

use super::connection::{Connection, Witness};
use super::hold::Hold;
use super::mark::Mark;
use super::seen::Seen;

impl Connection {
    /// Completes a hold by what the connection knows, counts it among the occasions, and reports it.
    pub(super) fn was_held(
        &mut self,
        mut hold: Hold,
        segment: &Gist,
        from: usize,
        mark: Mark,
        witness: &mut impl Witness,
    ) {
        let distance_ns = self.halves[1 - from].receiver_distance_ns();
        (hold.numbers, hold.ttl) = ([segment.seq, segment.ack], segment.ttl);
        hold.pieces = self.pieces(from, &segment.head, segment.payload);
        hold.tickets = self.are_tickets(from, &hold, &segment.head);
        hold.path_measured = self.is_rtt_measured();
        hold.same_stamp = self.left_with_the_last(segment, from, mark);
        hold.may_be_full = !self.offered_mss()
            && segment.payload >= LEAST_FULL_BYTES.max(self.halves[from].max_len)
            && !segment.flags().any(Flags::PSH | Flags::FIN);
        hold.urgent = self.halves[from].urgent || segment.flags().any(Flags::URG);
        hold.fin = segment.flags().any(Flags::FIN);
        let at_once = hold.is_at_once(self.halves[1 - from].blur_ns());
        let half = &mut self.halves[from];
        let since_ns = (mark.time_ns - half.sent.time_ns).max(distance_ns.unwrap_or(0));
        let odds = half.odds_of_mut(hold.prompt);
        odds.hit(hold.off_ns, at_once, since_ns);
        odds.came_behind(hold.ack_wait_ns, hold.reaction_ns);
        let waited = (hold.prompt, hold.flight);
        half.restarted = false;
        half.tally.overtaken += u32::from(half.resent.take().is_some());
        if hold.release.is_some() {
            self.note_carried(from, hold.held_len, hold.reaction_ns);
        }
        witness.saw(self, from, Seen::Held(hold));
        if let (true, flight) = waited {
            let waited = &mut self.halves[from].waited_flight;
            *waited = flight.max(*waited);
        }
    }

    /// Returns whether a segment left together with the data before it and came late. Both have the same TSval,
    /// although the sender's clock, at the rate that it had since the SYN, has ticked more than once in between.
    pub(crate) fn left_with_the_last(&self, segment: &Gist, from: usize, mark: Mark) -> bool {
        let last_stamp = self.halves[1 - from].data_stamp;
        let last_ns = self.halves[from].sent.time_ns;
        let ticks = i64::from(last_stamp.wrapping_sub(self.syn_stamps[from]));
        let (before_ns, since_ns) = (last_ns - self.first.time_ns, mark.time_ns - last_ns);
        let ticked = ticks > 0 && before_ns / ticks < since_ns / 2;
        let stamp = segment.timestamps().map(|stamps| stamps.value);
        self.handshake && ticked && stamp == Some(last_stamp)
    }
}
