//! Strict Nagle: idleness is tested for every segment (RFC 896; Doupnik, sections 1.3 and 1.4).

use super::{Because, Offer, Rule, Vars, Verdict, Why};

/// RFC 896 to the letter, without a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictNagle;

impl Rule for StrictNagle {
    fn decide(&self, _: &Offer, vars: &Vars) -> Verdict {
        if vars.idle() {
            Verdict::Send(Because::Idle)
        } else {
            Verdict::hold(Why::Unacknowledged)
        }
    }
}
