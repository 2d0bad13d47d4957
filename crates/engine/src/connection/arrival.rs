//! Handles arriving segments (RFC 9293, section 3.10.7).

use super::agreement::Agreed;
use super::handshake::reset;
use super::{Connection, State};
use crate::outbox::{Events, Outbox};
use crate::segment::{Flags, Segment};
use crate::time::{Duration, Instant};

/// The least time between two answers to bare ACKs outside the window (Linux's
/// `tcp_invalid_ratelimit`).
const BARE_ACK_ANSWERS: Duration = Duration::from_millis(500);

impl Connection {
    /// Handles an arriving segment. Whatever the segment carries is either accepted or ignored;
    /// nothing makes this panic.
    #[inline]
    pub fn on_segment(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        if self.agreed.timestamps && !self.heed_age(now, segment, out) {
            return;
        }
        let vars = self.sender.vars();
        let acks_in_range = vars.una <= segment.ack && segment.ack <= vars.max;
        if self.state == State::Established
            && segment.flags.without(Flags::PSH) == Flags::ACK
            && segment.seq == self.receiver.nxt()
            && acks_in_range
        {
            self.on_acceptable(now, segment, out);
        } else {
            self.on_unusual_segment(now, segment, out);
        }
    }

    /// Returns whether [`Connection::on_segment`] would accept the segment, so that its data, its FIN
    /// and its urgent pointer count: it is not too old (PAWS), it lies in the window or begins where a
    /// closed one does, it has neither SYN nor RST, and its acknowledgment is in range (RFC 9293, section 3.10.7.4).
    #[must_use]
    pub fn accepts(&self, now: Instant, segment: &Segment) -> bool {
        let vars = self.sender.vars();
        let acks_in_range = match self.state {
            State::SynReceived => vars.una < segment.ack && segment.ack <= vars.max,
            _ => segment.ack <= vars.max && !self.is_a_guess(segment),
        };
        let current = !self.agreed.timestamps || self.is_current(now, segment);
        !matches!(self.state, State::Closed | State::Listen | State::SynSent)
            && current
            && (self.receiver.acceptable(segment) || segment.seq == self.receiver.nxt())
            && !segment.flags.any(Flags::RST.with(Flags::SYN))
            && segment.flags.has(Flags::ACK)
            && acks_in_range
    }

    /// Handles a segment that is not the next one of an open connection.
    #[inline(never)]
    fn on_unusual_segment(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        let segment = &self.without_ecn(segment);
        match self.state {
            State::Closed => reset(segment, out),
            State::Listen => self.on_segment_in_listen(now, segment, out),
            State::SynSent => self.on_segment_in_syn_sent(now, segment, out),
            _ => self.on_segment_checked(now, segment, out),
        }
    }

    /// Applies the ordered checks of section 3.10.7.4.
    fn on_segment_checked(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        // Both opened at once: the peer's SYN comes again, now with the ACK of ours (figure 7).
        if self.state == State::SynReceived && self.answers_our_syn(segment) {
            self.complete_handshake(now, out);
            let bare = Segment {
                seq: segment.seq + 1,
                flags: segment.flags.without(Flags::SYN),
                ..*segment
            };
            self.on_acceptable(now, &bare, out);
            return;
        }
        // First, the sequence number. A SYN-ACK whose own ACK was lost comes again; so does a FIN.
        if !self.receiver.acceptable(segment) {
            if !segment.flags.has(Flags::RST) {
                self.on_unacceptable(now, segment, out);
            }
            return;
        }
        // Second, RST: only one that is exactly in place; others are challenged (RFC 5961, 3.2).
        if segment.flags.has(Flags::RST) {
            // RFC 1337, section 3, F1: an old duplicate must not end TIME-WAIT before its time.
            if self.state == State::TimeWait && self.extensions.time_wait_ignores_resets {
                return;
            }
            if segment.seq == self.receiver.nxt() {
                self.on_reset(out);
            } else if self.receiver.window_holds(segment.seq) {
                self.challenge(now, out);
            }
            return;
        }
        // Fourth, SYN in the window: challenged (RFC 5961, section 4.2).
        if segment.flags.has(Flags::SYN) {
            self.challenge(now, out);
            return;
        }
        // Fifth, ACK.
        if !segment.flags.has(Flags::ACK) {
            return;
        }
        let vars = self.sender.vars();
        if self.state == State::SynReceived {
            if segment.ack <= vars.una || segment.ack > vars.max {
                reset(segment, out);
                return;
            }
            self.complete_handshake(now, out);
        } else if segment.ack > vars.max || self.is_a_guess(segment) {
            // It acknowledges what was never sent, or what is no longer remembered.
            if segment.ack <= vars.max || !self.extensions.linux.silent_to_unsent_acks {
                self.challenge(now, out);
            }
            return;
        }
        self.on_acceptable(now, segment, out);
    }

    /// Handles an acceptable segment whose ACK is in range: from the fifth check on.
    fn on_acceptable(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        let pure = segment.is_pure_ack();
        if segment.flags.any(Flags::CWR.with(Flags::CE)) {
            self.heed_marks(segment);
        }
        self.liveness.heard = now;
        let echo_age = self.take_timestamps(now, segment);
        if pure && self.reports.is_some() {
            self.take_report(now, segment);
        }
        let acked = self.sender.on_ack(now, segment, pure, echo_age);
        if acked.released > 0 {
            self.sender.grow_buffer();
        }
        if acked.released > 0 && self.wakes_writer() {
            out.events.add(Events::WRITABLE);
        }
        if acked.advanced && self.sender.fin_acked() {
            self.on_fin_acked(now, out);
        }
        if !pure {
            self.take_data(now, segment, out);
        }
        if self.owes_report(now) {
            self.send_ack(now, out);
        }
        self.output(now, out);
        if acked.released > 0 && self.sender.departures_wake() && self.wakes_writer() {
            out.events.add(Events::WRITABLE);
        }
    }

    /// Takes in data and FIN: the seventh and eighth check.
    #[inline(always)]
    pub(super) fn take_data(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        if segment.len == 0 && !segment.flags.has(Flags::FIN) {
            return;
        }
        if !self.state.receives() {
            // A FIN sent again, or data after a FIN: acknowledge, take nothing.
            self.receiver.demand_ack();
            if self.state == State::TimeWait {
                self.watch(now);
            }
            return;
        }
        if segment.len > 0 && self.refuses_data() {
            // RFC 9293, section 3.6.1: nobody will read it, and the peer is to know.
            self.push_reset_for(segment, out);
            self.vanish(
                match self.liveness.abandoned {
                    true => Events::CLOSED,
                    false => Events::RESET,
                },
                out,
            );
            return;
        }
        let arrived = self.receiver.on_data(segment, now);
        if self.sender.heeds_receiving() {
            self.tell_received(now);
        }
        if arrived.data {
            out.events.add(Events::READABLE);
        }
        if arrived.fin {
            out.events.add(Events::PEER_CLOSED);
            self.on_fin(now);
        }
    }

    /// Handles a segment that failed the first check: "an acknowledgment should be sent in reply".
    fn on_unacceptable(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        if self.state == State::TimeWait && segment.flags.has(Flags::FIN) {
            self.watch(now);
        }
        // With a closed window valid ACKs are still taken (section 3.10.7.4).
        let old_enough = segment.flags.has(Flags::ACK)
            && segment.ack <= self.sender.vars().max
            && segment.seq <= self.receiver.nxt() + 1
            && !self.is_far_below(segment)
            && !segment.flags.has(Flags::SYN)
            && self.state.synchronised();
        if old_enough {
            self.liveness.heard = now;
            // Data or a FIN below the window came before: its acknowledgment may be news, its window is
            // not. (A bare ACK there may be the only news of a window that opens.)
            let is_duplicate = segment.seq < self.receiver.nxt() && segment.sequence_len() > 0;
            let acked = if is_duplicate {
                self.sender.take_acknowledgment(now, segment, false, None)
            } else {
                self.sender.on_ack(now, segment, false, None)
            };
            if acked.released > 0 && self.wakes_writer() {
                out.events.add(Events::WRITABLE);
            }
            if acked.advanced && self.sender.fin_acked() {
                self.on_fin_acked(now, out);
            }
            if self.state == State::Closed {
                return;
            }
        }
        if self.state == State::SynReceived && segment.flags.has(Flags::SYN) {
            self.send_syn(now, out);
            return;
        }
        self.receiver.note_duplicate(segment);
        self.answer_unusable(now, segment, out);
    }

    /// "An acknowledgment should be sent in reply." But two ends that each answer what they cannot
    /// use must not answer each other forever, so bare ACKs are answered at a limited rate (RFC
    /// 5961, section 7).
    pub(super) fn answer_unusable(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        if segment.flags.has(Flags::SYN) {
            // "Irrespective of the sequence number" (RFC 5961, section 4.2).
            self.challenge(now, out);
        } else if segment.sequence_len() > 0 {
            self.say_where_we_stand(now, out);
        } else if now >= self.next_answer {
            self.next_answer = now + BARE_ACK_ANSWERS;
            self.say_where_we_stand(now, out);
        } else {
            // Its window may release something.
            self.output(now, out);
        }
    }

    fn on_reset(&mut self, out: &mut Outbox) {
        if self.state == State::SynReceived && self.passive {
            // Back to LISTEN; the application is not told.
            self.state = State::Listen;
            self.agreed = Agreed::default();
            self.sender.forget_peer(&self.extensions);
            self.receiver.forget();
            return;
        }
        self.vanish(Events::RESET, out);
    }

    /// Sends an ACK that says where this side stands.
    pub(super) fn say_where_we_stand(&mut self, now: Instant, out: &mut Outbox) {
        if self.state.synchronised() {
            self.receiver.demand_ack();
            self.output(now, out);
        } else {
            self.send_ack(now, out);
        }
    }
}
