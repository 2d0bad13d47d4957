//! The sending half of explicit congestion notification (RFC 3168, section 6.1.2). New data may be
//! marked. An echo of a mark reduces the window as a loss does, once per round trip, without a
//! retransmission.

use crate::offset::Offset;
use crate::segment::Flags;

/// The ECN flags of new data, and the offset up to which an echo belongs to a mark that has been
/// answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ecn {
    flags: Flags,
    answered: Offset,
}

impl Ecn {
    /// Returns the state after both SYNs, which agreed on ECN or did not.
    pub(crate) fn new(agreed: bool) -> Self {
        Self {
            flags: Flags::NONE.with_if(agreed, Flags::ECT),
            // The ECE of a SYN reports no mark.
            answered: Offset::FIRST,
        }
    }

    /// Returns whether both sides agreed.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.flags != Flags::NONE
    }

    /// Returns ECT, and CWR on the first segment after a reduction. Retransmissions (section
    /// 6.1.5), window probes (section 6.1.6) and bare ACKs (section 6.1.4) have neither.
    pub(crate) fn of_new_data(&mut self) -> Flags {
        core::mem::replace(&mut self.flags, Flags::ECT)
    }

    /// Records that the window was reduced, for whatever reason: the peer must be told.
    pub(crate) fn reduced(&mut self, max: Offset) {
        self.answered = max;
        if self.is_on() {
            self.flags = Flags::ECT.with(Flags::CWR);
        }
    }

    /// Returns whether an ACK with these flags echoes a mark.
    #[inline]
    pub(crate) fn heeds_echo(&self, flags: Flags) -> bool {
        flags.has(Flags::ECE) && self.is_on()
    }

    /// Returns whether the mark that an ACK up to `una` reports has not been answered yet: "TCP
    /// should not react to congestion indications more than once every window of data".
    pub(crate) fn is_a_new_mark(&self, una: Offset) -> bool {
        una > self.answered
    }
}
