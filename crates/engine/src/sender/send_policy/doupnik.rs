//! Doupnik's new transmission policy: a partial segment leaves if it ends the application's data,
//! whatever is unacknowledged (section 2.1).

use super::{Because, Offer, Rule, Vars, Verdict, Why};

/// Rules 1 and 2, and rule 3 in the liberal form. Each write is one set of application data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Doupnik {
    liberal: bool,
}

impl Doupnik {
    /// Returns the policy with the optional rule 3.
    pub(super) fn liberal() -> Self {
        Self { liberal: true }
    }
}

impl Rule for Doupnik {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        // Rule 2.
        if offer.empties && !vars.more_to_come {
            Verdict::Send(Because::EndOfData)
        // Rule 3.
        } else if self.liberal && offer.pass_over_mss {
            Verdict::Send(Because::BehindFull)
        // A write into a buffer smaller than the MSS never shows its end. If nothing is in flight,
        // nothing else would send it.
        } else if offer.empties && vars.writer_deadlocks() {
            Verdict::Send(Because::Blocked)
        } else if offer.empties {
            Verdict::hold(Why::NotEndOfData)
        } else {
            Verdict::hold(Why::WindowCuts)
        }
    }

    fn takes_window_cuts(&self) -> bool {
        self.liberal
    }

    fn heeds_blocking(&self) -> bool {
        true
    }
}
