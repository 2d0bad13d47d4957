//! What a pass must retransmit before it looks at new data. Loss recovery, with a scoreboard
//! ([`super::selective`]) or without ([`super::by_acks`]), asks for it; the pass does it.

use crate::offset::Offset;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resend {
    wanted: bool,
    forced: bool,
    /// Without a scoreboard, what begins below this offset is sent again.
    end: Offset,
}

impl Resend {
    /// Sets whether something must be retransmitted: the segment at SND.UNA, or what the scoreboard
    /// selects.
    #[inline]
    pub(crate) fn set_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Lets everything from SND.UNA to `end` be sent again, in as many segments as it takes.
    pub(crate) fn up_to(&mut self, end: Offset) {
        self.end = end;
    }

    /// Returns where the retransmission of more than one segment ends; means nothing if SND.UNA is
    /// beyond.
    pub(crate) fn end(self) -> Offset {
        self.end
    }

    /// Returns whether something must be retransmitted.
    #[inline]
    pub(crate) fn is_wanted(self) -> bool {
        self.wanted
    }

    /// Lets the next retransmission leave whatever the window.
    pub(crate) fn force_one(&mut self) {
        self.forced = true;
    }

    /// Returns whether the retransmission that leaves now may do so whatever the window, and clears
    /// that permission.
    pub(crate) fn take_force(&mut self) -> bool {
        core::mem::take(&mut self.forced)
    }
}
