//! A path that swallows large segments and says nothing (RFC 4821, section 7.7; RFC 8899, section
//! 4.3): after repeated time-outs of a large segment smaller ones are tried. There is no way up
//! again, no probing for what the path takes (RFC 4821, section 7.3): a connection so slowed keeps
//! its small segments.

use super::Sender;

/// Time-outs in a row that make a path suspicious (RFC 9293, section 3.8.3: R1, at least three).
const SUSPICIOUS: u32 = 3;
/// What is tried: what RFC 4821, section 7.2, begins with, and what every host takes (RFC 9293,
/// section 3.7.1).
const STEPS: [u32; 2] = [1024, 536];

impl Sender {
    /// The retransmission timer expired again.
    pub(super) fn suspect_a_black_hole(&mut self) {
        if !self.black_hole_detection || self.rtt.unanswered() < SUSPICIOUS {
            return;
        }
        let first = self.vars.written.since(self.vars.una);
        let first = first.min(u64::from(self.vars.mss));
        let smaller = STEPS.into_iter().find(|step| u64::from(*step) < first);
        if let Some(mss) = smaller {
            self.vars.mss = mss;
        }
    }
}
