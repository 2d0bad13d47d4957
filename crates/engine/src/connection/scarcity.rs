//! A connection whose host is short of memory. The engine stores no octets; whoever does tells it
//! how many there may be.

use super::{Connection, State};
use crate::outbox::{Events, Outbox};
use crate::segment::{Flags, Segment};
use crate::time::Instant;

impl Connection {
    /// Bounds both buffers to `octets` until [`Connection::unlimit_buffers`], whatever their sizes
    /// are or become. What is in them stays, and what was announced to the peer is still accepted:
    /// the window closes as data comes, and its right edge does not move back (RFC 9293, section
    /// 3.8.6). With at least two segments a connection still makes progress.
    pub fn limit_buffers(&mut self, octets: u64) {
        self.sender.limit_buffer(octets);
        match self.state {
            State::Closed | State::Listen => self.receiver.limit_buffer_before_the_syn(octets),
            _ => self.receiver.limit_buffer(octets),
        }
    }

    /// Ends the bound of [`Connection::limit_buffers`]: a writer that waits may continue, and a peer
    /// that was left without a window is told of the new one.
    pub fn unlimit_buffers(&mut self, now: Instant, out: &mut Outbox) {
        self.sender.unlimit_buffer();
        self.receiver.unlimit_buffer();
        if self.wakes_writer() {
            out.events.add(Events::WRITABLE);
        }
        if self.receiver.wants_ack() {
            self.output(now, out);
        }
    }

    /// Forgets all data that waits beyond a hole. It may have been reported in SACK blocks; the peer
    /// must send it again (RFC 2018, section 8).
    pub fn discard_out_of_order(&mut self) {
        self.receiver.discard_out_of_order();
    }

    /// Takes in a segment for whose data there is no memory: its acknowledgment counts, its data and
    /// its FIN do not, and the peer is told at once up to where it has been heard.
    pub fn on_segment_without_memory(&mut self, now: Instant, segment: &Segment, out: &mut Outbox) {
        let bare = Segment {
            len: 0,
            flags: segment.flags.without(Flags::FIN.with(Flags::PSH)),
            ..*segment
        };
        self.on_segment(now, &bare, out);
        let silent = out.segments.is_empty();
        if silent && self.state.synchronised() {
            self.receiver.demand_ack();
            self.output(now, out);
        }
    }
}
