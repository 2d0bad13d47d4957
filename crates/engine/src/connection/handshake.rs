//! Opening a connection: active, passive and simultaneous (RFC 9293, sections 3.5 and 3.10.7.2 to
//! 3.10.7.4).

use super::agreement::offered_mss;
use super::{Connection, State};
use crate::offset::Offset;
use crate::options::Options;
use crate::outbox::{Events, Outbox};
use crate::segment::{Flags, Segment};
use crate::sender::Syn;
use crate::time::Instant;

impl Connection {
    /// Waits for a SYN.
    ///
    /// # Panics
    ///
    /// If the connection has been opened before.
    pub fn listen(&mut self) {
        assert!(
            self.state == State::Closed,
            "listen: the connection is open"
        );
        self.state = State::Listen;
        self.passive = true;
    }

    /// Goes from CLOSED to SYN-RECEIVED with a SYN that this side has answered before, without
    /// remembering it (RFC 4987, section 3.6). Nothing is sent, and the handshake measures no round
    /// trip, unless its ACK echoes a timestamp of the past.
    ///
    /// # Panics
    ///
    /// If the connection has been opened before.
    pub fn listen_again(&mut self, now: Instant, syn: &Segment, out: &mut Outbox) {
        self.listen();
        let before = out.segments.len();
        self.on_segment(now, syn, out);
        out.segments.truncate(before);
        self.sender.distrust_round_trip();
    }

    /// Sends a SYN. Data that is [written](Connection::write) before the answer comes is sent after
    /// the answer.
    ///
    /// # Panics
    ///
    /// If the connection has been opened before. A listening connection may still connect.
    pub fn connect(&mut self, now: Instant, out: &mut Outbox) {
        assert!(
            matches!(self.state, State::Closed | State::Listen),
            "connect: the connection is open"
        );
        self.state = State::SynSent;
        self.passive = false;
        self.send_syn(now, out);
    }

    /// Sends the SYN, with an ACK once the peer's own SYN has come; also resends it if one was
    /// lost.
    pub(super) fn send_syn(&mut self, now: Instant, out: &mut Outbox) {
        let answering = self.state == State::SynReceived;
        let syn = Syn {
            ack: answering.then(|| self.receiver.nxt()),
            window: self.receiver.window(),
            options: self.syn_options(now),
            flags: self.syn_ecn(answering),
        };
        self.sender.send_syn(now, &syn, out);
    }

    /// Handles a segment in LISTEN (section 3.10.7.2).
    pub(super) fn on_segment_in_listen(
        &mut self,
        now: Instant,
        segment: &Segment,
        out: &mut Outbox,
    ) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            reset(segment, out);
        } else if segment.flags.has(Flags::SYN) {
            self.accept_syn(now, segment);
            self.state = State::SynReceived;
            self.send_syn(now, out);
            self.note_syn_acknowledged(now);
        }
    }

    /// Handles a segment in SYN-SENT (section 3.10.7.3).
    pub(super) fn on_segment_in_syn_sent(
        &mut self,
        now: Instant,
        segment: &Segment,
        out: &mut Outbox,
    ) {
        let has_ack = segment.flags.has(Flags::ACK);
        if has_ack && segment.ack != Offset::FIRST {
            reset(segment, out);
            return;
        }
        if segment.flags.has(Flags::RST) {
            if has_ack {
                self.vanish(Events::RESET, out);
            }
            return;
        }
        if !segment.flags.has(Flags::SYN) {
            return;
        }
        self.accept_syn(now, segment);
        if has_ack {
            let echo_age = self.take_timestamps(now, segment);
            self.sender.on_ack(now, segment, false, echo_age);
            self.complete_handshake(now, out);
            self.receiver.demand_ack();
            self.take_data(now, segment, out);
            self.output(now, out);
        } else {
            // Both sides opened at once.
            self.state = State::SynReceived;
            self.send_syn(now, out);
            self.note_syn_acknowledged(now);
        }
    }

    /// Handles the ACK of this side's SYN in SYN-RECEIVED (section 3.10.7.4, fifth check). An
    /// earlier close takes effect now (section 3.10.4).
    pub(super) fn complete_handshake(&mut self, now: Instant, out: &mut Outbox) {
        self.state = if self.sender.is_finishing() {
            State::FinWait1
        } else {
            State::Established
        };
        self.liveness.heard = now;
        self.watch(now);
        self.sender.grow_buffer();
        out.events.add(Events::CONNECTED);
    }

    /// Returns whether this is the SYN that this side has answered, now with an ACK of this side's
    /// SYN.
    pub(super) fn answers_our_syn(&self, segment: &Segment) -> bool {
        let both = Flags::SYN.with(Flags::ACK);
        segment.flags.has(both)
            && !segment.flags.has(Flags::RST)
            && segment.seq == Offset::SYN
            && segment.ack == Offset::FIRST
    }

    fn accept_syn(&mut self, now: Instant, segment: &Segment) {
        self.agree(now, &segment.options);
        self.agree_on_ecn(segment.flags);
        self.receiver.synchronise();
        self.sender.learn_mss(offered_mss(&segment.options));
        self.sender
            .learn_window(segment.seq, u64::from(segment.window));
    }

    fn note_syn_acknowledged(&mut self, now: Instant) {
        let window = self.receiver.window();
        self.receiver.acknowledged(window, false, now);
    }
}

/// Answers a segment that belongs to no connection (RFC 9293, section 3.10.7.1).
pub fn reset(segment: &Segment, out: &mut Outbox) {
    if segment.flags.has(Flags::RST) {
        return;
    }
    let (seq, ack, flags) = if segment.flags.has(Flags::ACK) {
        (segment.ack, Offset::SYN, Flags::RST)
    } else {
        (Offset::SYN, segment.end(), Flags::RST.with(Flags::ACK))
    };
    out.segments.push(Segment {
        seq,
        ack,
        len: 0,
        window: 0,
        flags,
        options: Options::default(),
    });
}
