//! Sends what is due: the sender's pass, and a bare acknowledgment if no segment carried it.

use super::Connection;
use crate::options::Options;
use crate::outbox::Outbox;
use crate::segment::{Flags, Segment};
use crate::time::Instant;

impl Connection {
    /// Runs the sender, and sends a bare acknowledgment if one is wanted and no segment carried it.
    /// Returns whether there was anything to do.
    #[inline]
    pub(super) fn output(&mut self, now: Instant, out: &mut Outbox) -> bool {
        let unsent = self.sender.has_unsent();
        let something = (unsent || self.receiver.wants_ack()) && self.state.synchronised();
        if something {
            self.output_something(now, unsent, out);
        }
        if self.reports.is_some() {
            self.look_at_queues(now);
        }
        something
    }

    /// Sends what there is. Not inlined, so that the many calls that find nothing to do cost almost nothing.
    #[inline(never)]
    fn output_something(&mut self, now: Instant, unsent: bool, out: &mut Outbox) {
        self.set_stamp(now);
        if self.sender.vars().writer_blocked {
            let lacks_space = self.writer_lacks_space();
            self.sender.set_writer_lacks_space(lacks_space);
        }
        if unsent && self.sender.pass(now, &self.stamp, out) > 0 {
            let with_data = out.segments.last().is_some_and(|segment| segment.len > 0);
            self.receiver
                .acknowledged(self.stamp.window, with_data, now);
        } else if self.receiver.wants_ack() {
            self.push_ack(now, out);
        }
    }

    /// Sends a bare acknowledgment, whatever else there may be to send.
    pub(super) fn send_ack(&mut self, now: Instant, out: &mut Outbox) {
        self.set_stamp(now);
        self.push_ack(now, out);
    }

    #[inline]
    fn push_ack(&mut self, now: Instant, out: &mut Outbox) {
        out.segments.push(Segment {
            seq: self.sender.bare_ack_seq(),
            ack: self.stamp.ack,
            len: 0,
            window: self.stamp.window,
            flags: Flags::ACK.with(self.stamp.flags),
            options: Options {
                counters: self.report(now),
                ..self.stamp.options
            },
        });
        self.sender.count_empty();
        self.receiver.acknowledged(self.stamp.window, false, now);
    }

    #[inline]
    pub(super) fn set_stamp(&mut self, now: Instant) {
        self.stamp.ack = self.receiver.nxt();
        self.stamp.window = self.receiver.window();
        if self.agreed.every_segment {
            self.set_options(now);
        }
    }
}
