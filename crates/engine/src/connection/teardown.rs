//! Closing a connection, in every order (RFC 9293, section 3.6).

use core::cmp::Ordering;

use super::{Connection, State};
use crate::options::Options;
use crate::outbox::{Events, Outbox};
use crate::segment::{Flags, Segment};
use crate::time::Instant;

impl Connection {
    /// Closes the sending direction: a FIN follows what is in the buffer. Reading goes on.
    ///
    /// If nothing was written before the answer to a SYN comes, there is nothing to keep and the
    /// connection is closed at once (section 3.10.4). Otherwise data and FIN follow the handshake, and a
    /// handshake that fails is reported ([`Events::RESET`], [`Events::TIMED_OUT`]).
    pub fn close(&mut self, now: Instant, out: &mut Outbox) {
        self.write = None;
        match self.state {
            State::SynSent if self.sender.buffered() > 0 => {
                self.sender.finish();
                return;
            }
            State::Closed | State::Listen | State::SynSent => {
                self.vanish(Events::CLOSED, out);
                return;
            }
            // The FIN waits for the handshake, as data does.
            State::SynReceived => {}
            State::Established => self.state = State::FinWait1,
            State::CloseWait => self.state = State::LastAck,
            // Closed already.
            State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait => {
                return;
            }
        }
        self.sender.finish();
        self.output(now, out);
    }

    /// Aborts the connection: sends a RST and nothing more (section 3.10.5).
    pub fn abort(&mut self, out: &mut Outbox) {
        self.push_reset(out);
        self.vanish(Events::CLOSED, out);
    }

    /// Sends a RST if the peer may believe that there is a connection.
    pub(super) fn push_reset(&mut self, out: &mut Outbox) {
        let reset_is_due = self.state.synchronised() && self.state != State::TimeWait
            || self.state == State::SynReceived;
        if reset_is_due {
            out.segments.push(Segment {
                seq: self.sender.bare_ack_seq(),
                ack: self.receiver.nxt(),
                len: 0,
                window: 0,
                flags: Flags::RST.with(Flags::ACK),
                options: self.reset_options(),
            });
        }
    }

    /// Sends a RST that answers `segment`: "the reset takes its sequence number from the ACK field
    /// of the segment" (section 3.10.7.1).
    pub(super) fn push_reset_for(&mut self, segment: &Segment, out: &mut Outbox) {
        out.segments.push(Segment {
            seq: segment.ack,
            ack: self.receiver.nxt(),
            len: 0,
            window: 0,
            flags: Flags::RST,
            options: self.reset_options(),
        });
    }

    /// Returns the options of a RST. If timestamps were agreed on, a RST should carry them (RFC
    /// 7323, section 3.2). Their time is that of the last pass, because a RST leaves without one.
    fn reset_options(&self) -> Options {
        let now = self.sender.vars().now;
        Options {
            timestamps: self.agreed.timestamps.then(|| self.timestamps(now)),
            ..Options::default()
        }
    }

    /// Handles the peer's FIN, which is in order (section 3.10.7.4, eighth check).
    pub(super) fn on_fin(&mut self, now: Instant) {
        match self.state {
            // The ACK policy decides when to acknowledge it.
            State::Established | State::SynReceived => {
                self.state = State::CloseWait;
                return;
            }
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
        // Nothing will be written that could carry it.
        self.receiver.demand_ack();
    }

    /// Handles the acknowledgment of this side's FIN (section 3.10.7.4, fifth check).
    pub(super) fn on_fin_acked(&mut self, now: Instant, out: &mut Outbox) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.watch(now);
            }
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.vanish(Events::CLOSED, out),
            _ => {}
        }
    }

    /// Returns whether a connection in TIME-WAIT may give way to the one that `syn` opens: a SYN
    /// newer than everything of the old connection cannot be a late duplicate of it (RFC 6191,
    /// section 2; RFC 9293, section 3.6.1). A stack then drops this connection and hands the SYN to
    /// its listener.
    #[must_use]
    pub fn gives_way_to(&self, syn: &Segment) -> bool {
        let opens = syn.flags.has(Flags::SYN) && !syn.flags.any(Flags::ACK.with(Flags::RST));
        if self.state != State::TimeWait || !opens {
            return false;
        }
        let beyond = syn.seq > self.receiver.nxt();
        match self.against_recent(syn) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Less) => false,
            // The timestamps do not tell, or the new connection has none.
            Some(Ordering::Equal) | None => beyond,
        }
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.watch(now);
    }
}
