//! EOM and its combinations: the socket layer tells where a large message ends (Mogul & Minshall,
//! sections 5.3 and 5.4, figure 4).

use super::memory::{BlockCredit, EndOfMessage, PreviousSmall};
use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};

/// EOM alone or combined with MORE, MSMV or DLDET.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eom {
    end: EndOfMessage,
    more: bool,
    msmv: Option<PreviousSmall>,
    dldet: Option<BlockCredit>,
}

impl Eom {
    /// Returns the same variant with MSMV, if it is part of it, to the letter of the text.
    pub(super) fn to_the_letter(mut self) -> Self {
        self.msmv = self.msmv.map(|_| PreviousSmall::to_the_letter());
        self
    }

    /// Returns E+M.
    pub(super) fn with_more() -> Self {
        Self {
            more: true,
            ..Self::default()
        }
    }

    /// Returns E+M+M: EOM, MORE and MSMV.
    pub(super) fn with_more_and_msmv() -> Self {
        Self {
            msmv: Some(PreviousSmall::default()),
            ..Self::with_more()
        }
    }

    /// Returns E+M+D: EOM, MORE and DLDET.
    pub(super) fn with_more_and_dldet() -> Self {
        Self {
            dldet: Some(BlockCredit::default()),
            ..Self::with_more()
        }
    }
}

impl Rule for Eom {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else if self.end.is_set() {
            Verdict::Send(Because::EndOfData)
        } else if self.msmv.is_some_and(|previous| !previous.is_set()) {
            Verdict::Send(Because::PreviousFull)
        } else if self.dldet.is_some_and(|credit| credit.covers(vars)) {
            Verdict::Send(Because::Blocked)
        } else {
            Verdict::hold(Why::Unacknowledged)
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        self.end.observe(moment);
        if let Some(previous) = &mut self.msmv {
            previous.observe(moment, vars);
        }
        if let Some(credit) = &mut self.dldet {
            credit.observe(moment);
        }
    }

    fn includes_more(&self) -> bool {
        self.more
    }

    fn heeds_blocking(&self) -> bool {
        self.dldet.is_some()
    }
}
