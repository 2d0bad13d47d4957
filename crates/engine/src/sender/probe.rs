//! Window probes: what the persist timer sends.

use super::send_policy::Because;
use super::{Sender, Stamp};
use crate::offset::Offset;
use crate::outbox::Outbox;
use crate::segment::{Flags, Segment};
use crate::time::Instant;

impl Sender {
    /// Handles the expiry of the persist timer: sends what was held although the window has room
    /// for it, otherwise one octet beyond a closed window (RFC 9293, section 3.8.6.1).
    pub(crate) fn probe(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) {
        self.now = now;
        let held = self
            .sendable()
            .min(u64::from(self.path.segment_size(stamp.sack_octets)));
        if held > 0 {
            // Linux: `tcp_write_wakeup` marks what it sends.
            self.push_what_is_written();
            self.send_one(held as u32, self.because(Because::Probe), stamp, out);
            return;
        }
        if self.timers.empty_probes() {
            self.push_empty_probe(stamp, out);
            self.timers.start_persist(now, &self.rtt);
            return;
        }
        let seq = self.seq.nxt;
        let unsent = self.seq.unsent();
        let len = unsent.min(1);
        let fin = self.seq.finishing && unsent == len;
        let push = self.buffer.push_ends_writes() && len > 0;
        let flags = Flags::ACK
            .with_if(push, Flags::PSH)
            .with_if(fin, Flags::FIN);
        let (ack, window) = (stamp.ack, stamp.window);
        out.segments.push(Segment {
            seq,
            ack,
            len: len as u32,
            window,
            flags,
            options: stamp.options,
        });
        // SND.NXT stays: what was probed with counts as unsent until it is acknowledged, and the
        // persist timer instead of the retransmission timer watches it.
        self.seq.max = self.seq.max.max(seq + len + u64::from(fin));
        self.window.restart.sent(now);
        self.counters.data_segments += len;
        self.counters.short_segments += len;
        self.counters.data_octets += len;
        self.counters.empty_segments += 1 - len;
        self.timers.start_persist(now, &self.rtt);
    }

    /// Sends a segment without data below what is acknowledged, which the peer answers with its
    /// window (Linux: `tcp_xmit_probe_skb`).
    fn push_empty_probe(&mut self, stamp: &Stamp, out: &mut Outbox) {
        out.segments.push(Segment {
            seq: Offset::new(self.seq.una.get() - 1),
            ack: stamp.ack,
            len: 0,
            window: stamp.window,
            flags: Flags::ACK,
            options: stamp.options,
        });
        self.window.restart.sent(self.now);
        self.counters.empty_segments += 1;
    }
}
