//! MINSHALL: a runt waits only while an earlier *small* segment is unacknowledged
//! (Mogul & Minshall, section 5.1; draft-minshall-nagle-01).

use super::memory::{BlockCredit, SmallMark};
use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};

/// Minshall's variant, alone or combined with MORE or DLDET.
#[derive(Clone, Copy, Debug, Default)]
pub struct Minshall {
    small: SmallMark,
    more: bool,
    dldet: Option<BlockCredit>,
}

impl Minshall {
    /// Returns the same variant to the letter of section 5.1: any short segment is small.
    pub(super) fn to_the_letter(mut self) -> Self {
        self.small = SmallMark::to_the_letter();
        self
    }

    /// Returns MIN+MORE.
    pub(super) fn with_more() -> Self {
        Self {
            more: true,
            ..Self::default()
        }
    }

    /// Returns DLDET + MINSHALL, which section 10 of Mogul & Minshall expects to work well almost always.
    pub(super) fn with_dldet() -> Self {
        Self {
            more: true,
            dldet: Some(BlockCredit::default()),
            ..Self::default()
        }
    }
}

impl Rule for Minshall {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else if !self.small.outstanding(vars) {
            Verdict::Send(Because::NoSmallOutstanding)
        } else if self.dldet.is_some_and(|credit| credit.covers(vars)) {
            Verdict::Send(Because::Blocked)
        } else {
            Verdict::hold(Why::SmallUnacknowledged)
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        self.small.observe(moment, vars);
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
