//! The sending half of explicit congestion notification (RFC 3168, section 6.1.2): new data may be marked,
//! and an echo of a mark reduces the window as a loss does, once in a round trip, with nothing sent again.

use super::Sender;
use super::congestion::Control;
use crate::offset::Offset;
use crate::segment::Flags;

/// What new data says, and until when an echo is that of a mark which has been answered.
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

    /// ECT, and CWR on the first segment after a reduction. Not on what is sent again (section 6.1.5),
    /// nor on window probes (section 6.1.6) or bare ACKs (section 6.1.4).
    pub(super) fn of_new_data(&mut self) -> Flags {
        core::mem::replace(&mut self.flags, Flags::ECT)
    }

    /// The window was reduced, for whatever reason: the peer is to know.
    pub(super) fn reduced(&mut self, max: Offset) {
        self.answered = max;
        if self.is_on() {
            self.flags = Flags::ECT.with(Flags::CWR);
        }
    }
}

impl Sender {
    /// Both SYNs agreed on ECN, or not.
    pub(crate) fn permit_ecn(&mut self, permitted: bool) {
        self.ecn = Ecn {
            flags: Flags::NONE.with_if(permitted, Flags::ECT),
            // The ECE of a SYN tells of no mark.
            answered: Offset::FIRST,
        };
    }

    /// Returns whether an ACK with these flags echoes a mark.
    #[inline]
    pub(super) fn heeds_echo(&self, flags: Flags) -> bool {
        flags.has(Flags::ECE) && self.ecn.is_on()
    }

    /// Returns whether nothing was done yet about a mark of which an ACK up to SND.UNA tells: "TCP should not react
    /// to congestion indications more than once every window of data".
    pub(super) fn is_a_new_mark(&self) -> bool {
        self.vars.una > self.ecn.answered
    }

    /// A mark is echoed, and there is no scoreboard.
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
