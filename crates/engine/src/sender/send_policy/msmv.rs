//! MSMV: a runt leaves if the segment before it was full-sized (Mogul & Minshall, section 5.2;
//! Minshall, Saito, Mogul and Verghese 1999).

use super::memory::{BlockCredit, PreviousSmall};
use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};

/// The one-bit variant, alone or combined with DLDET.
#[derive(Clone, Copy, Debug, Default)]
pub struct Msmv {
    previous_small: PreviousSmall,
    dldet: Option<BlockCredit>,
}

impl Msmv {
    /// Returns the same variant to the letter of section 5.2: the size of the socket buffer decides.
    pub(super) fn to_the_letter(mut self) -> Self {
        self.previous_small = PreviousSmall::to_the_letter();
        self
    }

    /// Returns DLDET + MSMV (section 10, future work).
    pub(super) fn with_dldet() -> Self {
        Self {
            dldet: Some(BlockCredit::default()),
            ..Self::default()
        }
    }
}

impl Rule for Msmv {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else if !self.previous_small.is_set() {
            Verdict::Send(Because::PreviousFull)
        } else if self.dldet.is_some_and(|credit| credit.covers(vars)) {
            Verdict::Send(Because::Blocked)
        } else {
            Verdict::hold(Why::PreviousSmall)
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        self.previous_small.observe(moment, vars);
        if let Some(credit) = &mut self.dldet {
            credit.observe(moment);
        }
    }

    fn includes_more(&self) -> bool {
        self.dldet.is_some()
    }

    fn heeds_blocking(&self) -> bool {
        self.dldet.is_some()
    }
}
