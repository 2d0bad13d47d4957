//! NAGLE as in BSD: a runt leaves only on an idle connection, and idleness is tested once per
//! output pass (Mogul & Minshall, section 3, figure 3).

use super::{Because, Offer, Rule, Vars, Verdict, Why};

/// BSD's Nagle rule, without a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nagle;

impl Rule for Nagle {
    fn decide(&self, offer: &Offer, _: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else {
            Verdict::hold(Why::Unacknowledged)
        }
    }
}
