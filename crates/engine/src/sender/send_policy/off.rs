//! OFF: the Nagle algorithm disabled, as TCP_NODELAY does.

use super::{Because, Offer, Rule, Vars, Verdict};

/// Never holds, and has no memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Rule for Off {
    fn decide(&self, _: &Offer, _: &Vars) -> Verdict {
        Verdict::Send(Because::NoDelay)
    }
}
