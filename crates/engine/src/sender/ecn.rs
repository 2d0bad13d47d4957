//! The sending half of explicit congestion notification (RFC 3168, section 6.1.2). New data may be
//! marked. An echo of a mark reduces the window as a loss does, once per round trip, without a
//! retransmission.

use super::Sender;
use super::congestion::Control;
use crate::offset::Offset;
use crate::segment::Flags;

/// The ECN flags of new data, and the offset up to which an echo belongs to a mark that has been
/// answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ecn {
    flags: Flags,
    answered: Offset,
}

impl Ecn {
    /// Returns whether both sides agreed.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.flags != Flags::NONE
    }

    /// Returns ECT, and CWR on the first segment after a reduction. Retransmissions (section
    /// 6.1.5), window probes (section 6.1.6) and bare ACKs (section 6.1.4) have neither.
    pub(super) fn of_new_data(&mut self) -> Flags {
        core::mem::replace(&mut self.flags, Flags::ECT)
    }

    /// Records that the window was reduced, for whatever reason: the peer must be told.
    pub(super) fn reduced(&mut self, max: Offset) {
        self.answered = max;
        if self.is_on() {
            self.flags = Flags::ECT.with(Flags::CWR);
        }
    }
}

impl Sender {
    /// Sets whether both SYNs agreed on ECN.
    pub(crate) fn permit_ecn(&mut self, permitted: bool) {
        self.ecn = Ecn {
            flags: Flags::NONE.with_if(permitted, Flags::ECT),
            // The ECE of a SYN reports no mark.
            answered: Offset::FIRST,
        };
    }

    /// Returns whether an ACK with these flags echoes a mark.
    #[inline]
    pub(super) fn heeds_echo(&self, flags: Flags) -> bool {
        flags.has(Flags::ECE) && self.ecn.is_on()
    }

    /// Returns whether the mark that an ACK up to SND.UNA reports has not been answered yet: "TCP
    /// should not react to congestion indications more than once every window of data".
    pub(super) fn is_a_new_mark(&self) -> bool {
        self.vars.una > self.ecn.answered
    }

    /// Answers the echo of a mark if there is no scoreboard.
    pub(super) fn answer_the_mark(&mut self, flight: u64) {
        if !self.is_a_new_mark() {
            return;
        }
        let flight = self.to_reduce(flight);
        let (window, congestion) = self.window();
        congestion.on_loss(window, flight);
        self.ecn.reduced(self.vars.max);
    }
}
