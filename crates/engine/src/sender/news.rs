//! Lets the small-segment state know what the application, the receiver, the device and the peer have
//! told.

use super::Sender;
use super::send_policy::Moment;
use crate::queues::QueueCounters;
use crate::time::Instant;

impl Sender {
    pub(crate) fn set_nodelay(&mut self, on: bool) {
        self.small.hints.nodelay = on;
    }

    pub(crate) fn set_corked(&mut self, on: bool) {
        self.small.hints.corked = on;
    }

    #[inline]
    pub(crate) fn set_more_to_come(&mut self, on: bool) {
        self.small.hints.more_to_come = on;
    }

    pub(crate) fn set_device_busy(&mut self, busy: bool) {
        self.small.hints.device_busy = busy;
    }

    #[inline]
    pub(crate) fn set_reader_blocked(&mut self, blocked: bool) {
        self.small.hints.reader_blocked = blocked;
    }

    #[inline]
    pub(crate) fn set_writer_blocked(&mut self, blocked: bool) {
        self.small.hints.writer_blocked = blocked;
    }

    pub(crate) fn set_writer_lacks_space(&mut self, lacks: bool) {
        self.small.hints.writer_lacks_space = lacks;
    }

    /// Returns whether the policy looks at what is received.
    #[inline]
    pub(crate) fn heeds_receiving(&self) -> bool {
        self.small.heeds_receiving
    }

    /// Says how many octets of the peer's data arrived, and how many of them were read.
    pub(crate) fn set_received(&mut self, received: u64, read: u64, now: Instant) {
        self.small.hints.received = received;
        self.small.hints.read = read;
        self.observe(Moment::ReceiveQueueChanged, now);
    }

    /// Returns whether the policy looks at the peer's counters.
    #[inline]
    pub(crate) fn heeds_peer(&self) -> bool {
        self.small.heeds_peer
    }

    /// Says what both ends' queues have counted; the peer's are absent until it has told.
    pub(crate) fn set_counters(&mut self, own: QueueCounters, peer: Option<QueueCounters>) {
        self.small.hints.own_counters = own;
        self.small.hints.peer_counters = peer;
    }

    /// Returns whether the policy wants the peer to be told of this end's queues now, although it was at `last`.
    pub(crate) fn wants_report(&self, now: Instant, last: Option<Instant>) -> bool {
        self.small.heeds_peer && self.small.wants_report(now, last)
    }
}
