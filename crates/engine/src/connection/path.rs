//! What the path says of itself: errors of ICMP, as far as they concern a connection.

use super::{Connection, State};
use crate::offset::Offset;
use crate::outbox::{Events, Outbox};
use crate::time::Instant;

impl Connection {
    /// Returns whether a packet that began at `seq` may be in the network now: an error that quotes another
    /// one is a guess (RFC 5927, section 4.1).
    #[must_use]
    pub fn may_be_in_flight(&self, seq: Offset) -> bool {
        let vars = self.sender.vars();
        vars.una <= seq && seq < vars.max
    }

    /// A destination says that it cannot be reached, for good: a connection that is being opened ends
    /// with [`Events::RESET`]; one that stands goes on, since the error may be forged or pass (RFC 9293,
    /// section 3.9.2.2, against RFC 5461, section 4, and RFC 5927, section 5.2). Gives whether it ended.
    pub fn on_unreachable(&mut self, out: &mut Outbox) -> bool {
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if opening {
            self.vanish(Events::RESET, out);
        }
        opening
    }

    /// The path is known to take segments of `mss` octets, options included, before anything is sent.
    pub fn limit_path_mss(&mut self, mss: u16) {
        self.sender.limit_mss(mss.into());
    }

    /// The path takes packets whose segments have `mss` octets, options included: what was sent in
    /// longer ones is sent again at once.
    pub fn on_path_mss(&mut self, now: Instant, mss: u16, out: &mut Outbox) {
        if self.state.synchronised() && self.sender.learn_path_mss(mss.into()) {
            self.output(now, out);
        }
    }
}
