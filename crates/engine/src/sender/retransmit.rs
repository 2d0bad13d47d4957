//! What leaves again: after a loss, and to find out whether there was one.

use super::loss::{Loss, TailProbe};
use super::send_policy::Because;
use super::{Sender, Stamp};
use crate::offset::Span;
use crate::outbox::Outbox;
use crate::time::Instant;

impl Sender {
    /// Sends what must be sent again before new data.
    pub(super) fn resend(&mut self, stamp: &Stamp, out: &mut Outbox) {
        match self.loss {
            Loss::ByAcks(_) => self.resend_first(stamp, out),
            Loss::Scoreboard(_) => self.resend_lost(stamp, out),
        }
    }

    /// Retransmits fast: resends the segment at SND.UNA, whatever the window (RFC 5681, section 3.2);
    /// more only if it was asked for.
    fn resend_first(&mut self, stamp: &Stamp, out: &mut Outbox) {
        self.resend.set_wanted(false);
        let (nxt, written) = (self.seq.nxt, self.seq.written);
        let hold = self.small.hold();
        self.seq.nxt = self.seq.una;
        let size = u64::from(self.path.segment_size(stamp.sack_octets));
        let end = self.resend.end().max(self.seq.una + size).min(written);
        loop {
            let len = end.since(self.seq.nxt).min(size);
            self.send_one(len as u32, Because::Retransmission, stamp, out);
            if self.seq.nxt >= end {
                break;
            }
        }
        self.seq.nxt = nxt.max(self.seq.nxt);
        // What waits behind the flight continues to wait.
        self.small.keep_on(hold, self.seq.nxt);
    }

    /// Resends what is deemed lost, as far as the window allows (RFC 6675, section 4, NextSeg, rule
    /// 1, and section 5, step C); the first segment of a recovery whatever the window (step 4.3).
    fn resend_lost(&mut self, stamp: &Stamp, out: &mut Outbox) {
        while let Loss::Scoreboard(selective) = &self.loss {
            let Some(span) = selective.first_lost() else {
                self.resend.set_wanted(selective.may_resend());
                return;
            };
            let room = selective.room(self.window.cwnd, self.path.mss);
            let span = self.cut(span, stamp);
            let forced = self.resend.take_force();
            if !forced && (span.len() > room || !self.leaves_by_rate(span.len() as u32)) {
                return;
            }
            self.send_again(span, stamp, out);
        }
    }

    /// Resends by NextSeg's rules 3 and 4 (RFC 6675, section 4) if no new data could be sent.
    pub(super) fn resend_doubtful(&mut self, stamp: &Stamp, out: &mut Outbox) {
        while let Loss::Scoreboard(selective) = &mut self.loss
            && let Some(span) = selective.next_doubtful(self.window.cwnd)
        {
            self.send_again(self.cut(span, stamp), stamp, out);
        }
    }

    /// Returns the part of `span` that one segment can carry.
    fn cut(&self, span: Span, stamp: &Stamp) -> Span {
        let most = u64::from(self.path.segment_size(stamp.sack_octets));
        // A FIN takes a sequence number and no room.
        let fin = u64::from(span.end > self.seq.written);
        if span.len() - fin <= most {
            return span;
        }
        Span::new(span.start, span.start + most)
    }

    /// Sends `span` again, and the FIN if it is part of it; a scoreboard knows it.
    fn send_again(&mut self, span: Span, stamp: &Stamp, out: &mut Outbox) {
        self.rtt.distrust();
        self.path.probe_is_inconclusive();
        let len = span.end.min(self.seq.written).since(span.start) as u32;
        if let Loss::Scoreboard(selective) = &mut self.loss {
            selective.sent_again(span, len.into(), &context!(self));
        }
        self.emit(span.start, len, span.end > self.seq.written, stamp, out);
        self.timers.sent(self.now, &self.rtt);
        self.note_sent(span.start, len, Because::Retransmission, stamp);
    }

    /// RFC 8985, section 7.3: sends a tail loss probe: new data if there is any, otherwise the last
    /// segment again.
    pub(crate) fn tail_probe(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) {
        self.now = now;
        let size = u64::from(self.path.segment_size(stamp.sack_octets));
        let room = self.seq.window_end().since(self.seq.nxt);
        let len = self.seq.unsent().min(room).min(size);
        let is_retrans = len == 0;
        if !is_retrans {
            self.send_one(len as u32, Because::Probe, stamp, out);
        } else if let Loss::Scoreboard(selective) = &mut self.loss
            && let Some(span) = selective.repeated_by_tail_probe(size)
        {
            self.send_again(span, stamp, out);
        }
        self.timers.restart_retransmission(self.now, &self.rtt);
        // Section 7.2: never two probes in a row; new data would have scheduled one.
        self.timers.set_early(None);
        self.counters.tail_probes += 1;
        if let Loss::Scoreboard(selective) = &mut self.loss {
            selective.tail_probe_left(TailProbe {
                end_seq: self.seq.nxt,
                is_retrans,
            });
        }
    }
}
