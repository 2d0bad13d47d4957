//! What a pass is to send again before it looks at new data. Loss recovery, with a scoreboard
//! ([`super::selective`]) or without ([`super::recovery`]), asks for it; the pass does it.

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resend {
    wanted: bool,
    forced: bool,
}

impl Resend {
    /// Something is to be sent again: the segment at SND.UNA, or what the scoreboard says; or nothing
    /// is any more.
    #[inline]
    pub(super) fn set_wanted(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// Returns whether something is.
    #[inline]
    pub(super) fn is_wanted(self) -> bool {
        self.wanted
    }

    /// The next retransmission leaves whatever the window.
    pub(super) fn force_one(&mut self) {
        self.forced = true;
    }

    /// Returns whether the retransmission that leaves now may do so whatever the window; the one after it may
    /// not.
    pub(super) fn take_force(&mut self) -> bool {
        core::mem::take(&mut self.forced)
    }
}
