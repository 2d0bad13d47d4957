//! The counters of both ends' queues: this end's go out on its pure ACKs, and the peer's come in on
//! those of the peer (`Extensions::queue_counters`).
//!
//! Data segments do not carry them, so their size stays as it is; an ACK with SACK blocks has no room
//! for them. An ACK that leaves for another reason always has them. Only if the send policy asks for
//! it does one leave earlier than the ACK policy would let it.

use super::Connection;
use crate::offset::Offset;
use crate::queues::{Queue, QueueCounters};
use crate::segment::Segment;
use crate::time::Instant;

/// What both ends' queues have counted.
#[derive(Clone, Debug)]
pub(super) struct Reports {
    /// When this end's queues were looked at last.
    looked_at: Instant,
    unacknowledged: Queue,
    unread: Queue,
    delayed: Queue,
    /// What the peer told last.
    peer: Option<QueueCounters>,
    /// When this end told last.
    told_at: Option<Instant>,
}

impl Reports {
    /// Returns empty counters.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            looked_at: now,
            unacknowledged: Queue::default(),
            unread: Queue::default(),
            delayed: Queue::default(),
            peer: None,
            told_at: None,
        }
    }

    /// Returns this end's counters.
    fn own(&self) -> QueueCounters {
        QueueCounters {
            unacknowledged: (&self.unacknowledged).into(),
            unread: (&self.unread).into(),
            delayed: (&self.delayed).into(),
        }
    }
}

impl Connection {
    /// Takes note of this end's queues, which have not changed since the last look or have just now.
    pub(super) fn look_at_queues(&mut self, now: Instant) {
        let Some(reports) = &mut self.reports else {
            return;
        };
        let passed = now.since(reports.looked_at);
        reports.looked_at = now;
        let vars = self.sender.vars();
        let arrived = self.receiver.nxt();
        let acknowledged = self.receiver.last_ack_sent();
        let counted = |offset: Offset| offset.since(Offset::FIRST);
        let states = [
            (vars.buffered(), counted(vars.una)),
            (
                self.receiver.readable(),
                counted(self.receiver.read_up_to()),
            ),
            (arrived.since(acknowledged), counted(acknowledged)),
        ];
        let queues = [
            &mut reports.unacknowledged,
            &mut reports.unread,
            &mut reports.delayed,
        ];
        for (queue, (octets, left)) in queues.into_iter().zip(states) {
            queue.pass(passed);
            queue.change(octets, left);
        }
        if self.sender.heeds_peer() {
            self.sender.set_counters(reports.own(), reports.peer);
        }
    }

    /// Returns what a pure ACK that leaves now tells of this end's queues.
    #[inline]
    pub(super) fn report(&mut self, now: Instant) -> Option<QueueCounters> {
        if self.reports.is_none() || !self.stamp.options.sack.is_empty() {
            return None;
        }
        self.look_at_queues(now);
        let reports = self.reports.as_mut()?;
        reports.told_at = Some(now);
        Some(reports.own())
    }

    /// Takes in what the peer tells of its queues. What an ACK tells that was overtaken is ignored.
    pub(super) fn take_report(&mut self, now: Instant, segment: &Segment) {
        let Some((reports, told)) = self.reports.as_mut().zip(segment.options.counters) else {
            return;
        };
        if reports.peer.is_none_or(|known| told.may_follow(&known)) {
            reports.peer = Some(told);
            self.look_at_queues(now);
        }
    }

    /// Returns whether the peer should be told of this end's queues although no ACK is due: there is
    /// something to acknowledge, and the send policy wants it.
    pub(super) fn owes_report(&self, now: Instant) -> bool {
        self.reports.as_ref().is_some_and(|reports| {
            self.receiver.nxt() > self.receiver.last_ack_sent()
                && self.sender.wants_report(now, reports.told_at)
        })
    }
}
