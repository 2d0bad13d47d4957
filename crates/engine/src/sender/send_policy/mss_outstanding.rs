//! Moldeklev & Gunningberg's change: a runt may also leave if at least an MSS is unacknowledged
//! (section 4.2.1; this follows the conclusions' "at least", not section 4.2's "more than").

use super::{Because, Offer, Rule, Vars, Verdict, Why};

/// Nagle's rule with a test on the number of unacknowledged octets on entry to the output pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct MssOutstanding;

impl Rule for MssOutstanding {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else if offer.outstanding_on_entry >= u64::from(vars.mss) {
            Verdict::Send(Because::Enough)
        } else {
            Verdict::hold(Why::LessThanMssOutstanding)
        }
    }
}
