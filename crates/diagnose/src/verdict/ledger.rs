//! What the checks said of one frame that somebody asks about.

use super::check::Asked;
use super::lookalikes::Lookalike;
use crate::flow::hold::Hold;

/// The answers about the segment of one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The frame's number.
    pub(crate) frame: u64,
    /// The last answer of each check that was asked.
    pub(crate) asked: Vec<Asked>,
    /// What it was ruled out as, if it was.
    pub(crate) ruled_out: Option<Lookalike>,
}

impl Ledger {
    /// Takes down what was said of a hold, if it is the one that is asked about.
    pub(crate) fn note(&mut self, hold: &Hold, asked: &[Asked], ruled_out: Option<Lookalike>) {
        if hold.held.frame == self.frame {
            self.asked = asked.to_vec();
            self.ruled_out = ruled_out;
        }
    }
}
