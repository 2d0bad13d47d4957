//! BORMAN: the Nagle decision is made once for each buffer the application writes (Mogul &
//! Minshall, section 5.5, figure 5).

use super::{Because, Moment, Offer, Rule, Vars, Verdict, Why};

/// BSD/OS's rule as the paper implements it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Borman {
    /// `idleOnEntry`.
    idle_on_entry: bool,
    /// `moreOnEntry`.
    more_on_entry: bool,
    /// `TF_NODELAY`, as this variant sets it at the end of a buffer.
    exempt: bool,
    /// Whether the two are evaluated on entry to the write only, and not again after the writer
    /// slept.
    once: bool,
}

impl Borman {
    /// Returns the variant to the letter of figure 5: "at entry to sosend()".
    pub(super) fn once() -> Self {
        Self {
            once: true,
            ..Self::default()
        }
    }
}

impl Rule for Borman {
    fn decide(&self, offer: &Offer, _: &Vars) -> Verdict {
        if offer.idle_on_entry {
            Verdict::Send(Because::Idle)
        } else if self.exempt {
            Verdict::Send(Because::EndOfData)
        } else {
            Verdict::hold(Why::Unacknowledged)
        }
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        match moment {
            Moment::WriteBegan { resumed } if !(resumed && self.once) => {
                self.idle_on_entry = vars.idle();
                self.more_on_entry = vars.more_to_come;
                self.exempt = false;
            }
            Moment::ChunkCopied {
                more_to_come: false,
                ..
            } => {
                self.exempt = self.idle_on_entry || self.more_on_entry;
            }
            _ => {}
        }
    }

    /// "Our decision to include the MORE variant in our implementation" (section 8).
    fn includes_more(&self) -> bool {
        true
    }
}
