//! DLDET: a runt leaves when a thread waits, or is about to wait, for the answer to it (Mogul &
//! Minshall, section 5.6, figure 6).

use super::memory::BlockCredit;
use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};

/// Deadlock detection. A multi-threaded Telnet client, whose reader always waits, sends one short
/// segment per block instead of one per keystroke.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dldet {
    credit: BlockCredit,
}

impl Rule for Dldet {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else if self.credit.covers(vars) {
            Verdict::Send(Because::Blocked)
        } else {
            Verdict::hold(Why::Unacknowledged)
        }
    }

    fn observe(&mut self, moment: Moment, _: &Vars) {
        self.credit.observe(moment);
    }

    /// "With this mechanism, we must also use the TF_MORE flag."
    fn includes_more(&self) -> bool {
        true
    }

    fn heeds_blocking(&self) -> bool {
        true
    }
}
