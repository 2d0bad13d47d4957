//! Explicit congestion notification (RFC 3168). Both SYNs agree on it. Marks that arrive are echoed
//! until the peer says that it has reduced its window; echoes that arrive reduce this side's window
//! ([`crate::sender`]).

use super::Connection;
use crate::extensions::Ecn;
use crate::segment::{Flags, Segment};

/// The state of marks that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Whether this side's SYN asked for ECN.
    asked: bool,
    /// Whether every segment that leaves echoes a mark (section 6.1.3).
    echoes: bool,
}

impl Connection {
    /// Returns the ECN flags of a SYN (section 6.1.1).
    pub(super) fn syn_ecn(&mut self, answering: bool) -> Flags {
        if answering {
            return Flags::NONE.with_if(self.agreed.ecn, Flags::ECE);
        }
        // Section 6.1.1.1: if SYNs that asked were not answered, the next one does not ask.
        self.marks.asked = match self.extensions.ecn {
            Some(Ecn::Ask { again }) => self.sender.rtt().unanswered() <= again,
            _ => false,
        };
        Flags::NONE.with_if(self.marks.asked, Flags::ECE.with(Flags::CWR))
    }

    /// Takes in the `flags` of the peer's SYN.
    pub(super) fn agree_on_ecn(&mut self, flags: Flags) {
        let both = Flags::ECE.with(Flags::CWR);
        self.agreed.ecn = match flags.has(Flags::ACK) {
            true => self.marks.asked && flags.among(both) == Flags::ECE,
            false => self.extensions.ecn.is_some() && flags.has(both),
        };
        self.marks.echoes = false;
        self.sender.permit_ecn(self.agreed.ecn);
    }

    /// Returns the segment without the flags that have a meaning only after ECN was agreed on.
    pub(super) fn without_ecn(&self, segment: &Segment) -> Segment {
        let flags = match self.agreed.ecn || segment.flags.has(Flags::SYN) {
            true => segment.flags,
            false => segment.flags.without(Flags::ECN),
        };
        Segment { flags, ..*segment }
    }

    /// Section 6.1.3: an acceptable segment may have been marked, or say that the peer heard of a
    /// mark. Both are answered at once, because the peer's window may be one segment.
    #[inline(never)]
    pub(super) fn heed_marks(&mut self, segment: &Segment) {
        if segment.len == 0 || !self.agreed.ecn {
            return;
        }
        let (heard, marked) = (segment.flags.has(Flags::CWR), segment.flags.has(Flags::CE));
        if heard || (marked && !self.marks.echoes) {
            self.receiver.demand_ack();
        }
        self.marks.echoes = marked || (self.marks.echoes && !heard);
        self.stamp.flags = Flags::NONE.with_if(self.marks.echoes, Flags::ECE);
    }
}
