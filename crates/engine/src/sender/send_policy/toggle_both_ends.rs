//! TOGGLE-BOTH-ENDS: TOGGLE by the queues of both ends, as Borisov, Amit and Tsafrir propose
//! ("Batching with End-to-End Performance Estimation", HotOS 2025).
//!
//! An end sees what it wrote wait for its acknowledgment, but not that the peer's application has yet
//! to read it; and it takes for waiting what is only a delayed ACK. So each end tells the other one its
//! queues' counters on pure ACKs. What a request and its answer wait is then the sum over both ends of
//! what is unacknowledged and what is unread, less the time for which ACKs were delayed.
//!
//! ACKs that leave for another reason tell the counters, too, but where data flows both ways there are
//! few. So once in the last quarter of a slot an ACK does not wait for data to carry it. A peer that
//! does not tell its counters leaves what TOGGLE has.

use alloc::boxed::Box;

use super::trials::{self, Trials};
use super::{Moment, Offer, Rule, Vars, Verdict};
use crate::queues::QueueCounters;
use crate::time::Instant;

/// The rule, with its memory apart.
#[derive(Clone, Debug, Default)]
pub struct ToggleBothEnds(Box<Memory>);

#[derive(Clone, Debug, Default)]
struct Memory {
    trials: Trials,
    /// The counters of both ends at the last look.
    own: QueueCounters,
    peer: Option<QueueCounters>,
}

impl Memory {
    /// Adds what both ends have counted since the last look.
    fn count(&mut self, vars: &Vars) {
        let found = &mut self.trials.beside;
        let own = core::mem::replace(&mut self.own, vars.own_counters);
        found.delayed[0].add(vars.own_counters.delayed.since(own.delayed));
        let peer = core::mem::replace(&mut self.peer, vars.peer_counters);
        if let Some((now, before)) = vars.peer_counters.zip(peer) {
            found.peer[0].add(now.unacknowledged.since(before.unacknowledged));
            found.peer[1].add(now.unread.since(before.unread));
            found.delayed[1].add(now.delayed.since(before.delayed));
        }
    }
}

impl Rule for ToggleBothEnds {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        self.0.trials.decide(offer, vars)
    }

    fn observe(&mut self, moment: Moment, vars: &Vars) {
        if let Moment::ChunkCopied { .. } | Moment::AckArrived | Moment::ReceiveQueueChanged =
            moment
        {
            self.0.trials.look(vars);
            self.0.count(vars);
            self.0.trials.note(vars);
        }
    }

    fn heeds_receiving(&self) -> bool {
        true
    }

    fn heeds_peer(&self) -> bool {
        true
    }

    fn wants_report(&self, now: Instant, last: Option<Instant>) -> bool {
        trials::ends_untold(now, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queues::QueueCounter;
    use crate::time::Duration;

    /// A request waits here until it is acknowledged, and there until it is read; its answer likewise. An ACK that
    /// is delayed is no part of either.
    #[test]
    fn both_ends_waiting_counts_and_delayed_acks_do_not() {
        let mut rule = ToggleBothEnds::default();
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let mut vars = Vars::new(at(1_000), 1460);
        let counter = |area, left| QueueCounter { area, left };
        vars.peer_counters = Some(QueueCounters::NONE);
        rule.observe(Moment::ReceiveQueueChanged, &vars);
        vars.written += 1024;
        rule.observe(Moment::AckArrived, &vars);
        (vars.now, vars.una) = (at(4_000), vars.written);
        // In units of about a millisecond times an octet.
        vars.peer_counters = Some(QueueCounters {
            unacknowledged: counter(4_000, 1_000),
            unread: counter(2_000, 1_000),
            delayed: counter(1_000, 1_000),
        });
        vars.own_counters.delayed = counter(3_000, 1_000);
        rule.observe(Moment::AckArrived, &vars);
        vars.now = at(5_000);
        rule.observe(Moment::AckArrived, &vars);
        let unit = (1 << 20) as f64 / 1e6;
        let expected = 3.0 + (4.0 + 2.0 - 1.0 - 3.0) * unit;
        let waited = rule.0.trials.waited_where_it_sent().expect("it sent");
        assert!((waited as f64 / 1e6 - expected).abs() < 1e-3, "{waited}");
    }
}
