//! Challenge ACKs: a segment that asks for something drastic and may come from off the path is
//! answered with an ACK that says where the connection stands (RFC 5961).

use super::Connection;
use crate::offset::Offset;
use crate::outbox::Outbox;
use crate::segment::Segment;
use crate::time::{Duration, Instant};

/// "No more than 10 challenge ACKs in any 5 second window" (section 7). Each connection has its own
/// count: a shared one would tell one peer about another (CVE-2016-5696).
const MOST: u32 = 10;
const WINDOW: Duration = Duration::from_secs(5);

/// The number of challenges in the present window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    began: Instant,
    sent: u32,
}

impl Budget {
    fn take(&mut self, now: Instant) -> bool {
        if now.since(self.began) >= WINDOW || self.sent == 0 {
            self.began = now;
            self.sent = 0;
        }
        self.sent += 1;
        self.sent <= MOST
    }
}

impl Connection {
    /// Section 5.2: an acknowledgment older than the largest window ever offered is a guess, and so
    /// is one of what lies before this side's SYN.
    pub(super) fn is_a_guess(&self, segment: &Segment) -> bool {
        let vars = self.sender.vars();
        let too_old = segment.ack + vars.max_wnd < vars.una || segment.ack < Offset::SYN;
        self.extensions.blind_attack_defence && too_old
    }

    /// Returns whether a segment lies below the window by more than one window. Its ACK is then
    /// ignored: if any sequence number from half of the space counted, a blind attacker would have
    /// half of the work done (section 5 reasons so for the acknowledgment number).
    pub(super) fn is_far_below(&self, segment: &Segment) -> bool {
        let reach = self.receiver.largest_window();
        self.extensions.blind_attack_defence && segment.end() + reach < self.receiver.nxt()
    }

    /// Answers a segment that a blind attacker might have sent with an ACK that says where this
    /// side stands; at a limited rate, so that nobody can cause a flood.
    pub(super) fn challenge(&mut self, now: Instant, out: &mut Outbox) {
        let limited = self.extensions.blind_attack_defence;
        if !limited || self.challenges.take(now) {
            self.say_where_we_stand(now, out);
        }
    }
}
