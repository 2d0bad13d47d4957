//! ICMP errors, as far as they concern a connection.

use super::{Connection, State};
use crate::offset::Offset;
use crate::outbox::{Events, Outbox};
use crate::time::Instant;

impl Connection {
    /// Returns whether a packet that began at `seq` may be in the network now. An error that quotes
    /// any other packet is a guess (RFC 5927, section 4.1).
    #[must_use]
    pub fn may_be_in_flight(&self, seq: Offset) -> bool {
        let vars = self.sender.vars();
        vars.una <= seq && seq < vars.max
    }

    /// Handles the report that the destination is unreachable for good. A connection that is being
    /// opened ends with [`Events::RESET`]. An established one goes on, because the error may be
    /// forged or pass (RFC 9293, section 3.9.2.2, against RFC 5461, section 4, and RFC 5927,
    /// section 5.2). Returns whether the connection ended.
    pub fn on_unreachable(&mut self, out: &mut Outbox) -> bool {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if opening {
            self.vanish(Events::RESET, out);
        }
        opening
    }

    /// Limits segments to `mss` octets, options included, because the path is known to take no
    /// more. That knowledge holds up to `until`; [`Instant::FAR_FUTURE`] never ends it. Call it before
    /// anything is sent.
    pub fn limit_path_mss(&mut self, mss: u16, until: Instant) {
        self.sender.limit_mss(mss.into(), until);
    }

    /// Handles the report that the path takes segments of at most `mss` octets, options included:
    /// what was sent in longer ones is sent again at once.
    pub fn on_path_mss(&mut self, now: Instant, mss: u16, out: &mut Outbox) {
        self.sender.clock_is(now);
        if self.state.synchronised() && self.sender.learn_path_mss(mss.into()) {
            self.output(now, out);
        }
    }
}
