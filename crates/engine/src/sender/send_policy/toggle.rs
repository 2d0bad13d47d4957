//! TOGGLE: hold as Nagle does or send at once, whichever left less waiting when both were tried.
//!
//! Holding makes fewer segments, so it costs a busy host less; sending has the shorter way. Which of
//! the two is faster depends on the load, and the load shows in the queues: by Little's law the mean
//! time that an octet spends in a queue is the queue's area over time, divided by the octets that left
//! it. One end has two queues to look at: what it wrote and the peer has not acknowledged, and what
//! the peer sent and its application has not read. (Borisov, Amit and Tsafrir, "Batching with
//! End-to-End Performance Estimation", HotOS 2025, propose the estimate, from the queues of both
//! ends: TOGGLE-BOTH-ENDS has it. When both rules are tried, and how they are compared, is not theirs:
//! `trials.rs`.)
//!
//! TOGGLE-HOST is the same, but all connections of a host decide together, by the sums of what they
//! find. One that decides for itself does what is best for itself: on a host that has more to do than
//! it can, those that are served go on sending, the others hold, and there is never enough time for
//! all.

use alloc::boxed::Box;

use super::trials::{SharedTrials, Trials};
use super::{Moment, Offer, Rule, Vars, Verdict};

/// The rule, with its memory apart: it is large, and every connection has room for the largest.
#[derive(Clone, Debug, Default)]
pub struct Toggle(Box<Trials>);

impl Toggle {
    /// Returns the rule of a connection that decides together with all others that have this host.
    pub(super) fn of(host: SharedTrials) -> Self {
        Self(Box::new(Trials::of(host)))
    }
}

impl Rule for Toggle {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        self.0.decide(offer, vars)
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        // All other moments change neither queue.
        if let Moment::ChunkCopied { .. } | Moment::AckArrived | Moment::ReceiveQueueChanged =
            moment
        {
            self.0.look(vars);
            self.0.note(vars);
        }
    }

    fn heeds_receiving(&self) -> bool {
        true
    }
}
