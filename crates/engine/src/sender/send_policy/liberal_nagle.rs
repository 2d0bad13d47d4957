//! Liberal Nagle: the size test applies to everything sendable, so a runt may follow the full
//! segments of its own pass (Doupnik, section 1.5).

use super::{Because, Offer, Rule, Vars, Verdict, Why};

/// Nagle's rule with a size test on the whole pass, without a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiberalNagle;

impl Rule for LiberalNagle {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if offer.pass_over_mss {
            Verdict::Send(Because::BehindFull)
        } else if vars.idle() && offer.empties {
            Verdict::Send(Because::Idle)
        } else if offer.empties {
            Verdict::hold(Why::Unacknowledged)
        } else {
            Verdict::hold(Why::WindowCuts)
        }
    }

    /// "In the process it may send small segments within application data" (section 1.5).
    fn takes_window_cuts(&self) -> bool {
        true
    }
}
