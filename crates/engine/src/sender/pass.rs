//! The output pass: one run of BSD's `tcp_output`.

use super::Sender;
use super::loss::Loss;
use super::path::{Prospect, Wish};
use super::send_policy::{Because, Moment, Offer, Verdict, Why};
use super::window::Departure;
use crate::offset::{Offset, Span};
use crate::options::Options;
use crate::outbox::Outbox;
use crate::segment::{Flags, Segment};
use crate::time::Instant;

/// The receiving half's state that every segment carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// RCV.NXT.
    pub ack: Offset,
    /// The window to advertise, in octets.
    pub window: u32,
    /// Timestamps and SACK blocks.
    pub options: Options,
    /// The octets that the SACK blocks take in a segment, padding included.
    pub sack_octets: u32,
    /// ECE, if a mark is echoed (RFC 3168, section 6.1.3).
    pub flags: Flags,
}

/// The contents of a SYN.
#[derive(Clone, Copy, Debug)]
pub struct Syn {
    /// The acknowledgment number, if it answers another SYN.
    pub ack: Option<Offset>,
    /// The whole window, in octets.
    pub window: u32,
    /// The other options.
    pub options: Options,
    /// Its ECN flags (RFC 3168, section 6.1.1).
    pub flags: Flags,
}

/// The state of the connection when the pass began.
struct Entry {
    idle: bool,
    outstanding: u64,
    over_mss: bool,
    /// The largest segment that leaves in this pass.
    size: u32,
}

impl Sender {
    /// Sends everything that may leave now. Returns the number of segments that left.
    pub(crate) fn pass(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) -> usize {
        self.now = now;
        let before = out.segments.len();
        if self.timers.device_full() {
            self.mind_the_persist_timer();
            return 0;
        }
        self.window.begin_burst();
        if self.resend.is_wanted() {
            self.resend(stamp, out);
            self.push_bursts(&mut out.segments[before..]);
        }
        if self.seq.has_unsent() {
            let first = out.segments.len();
            self.send_new(stamp, out);
            self.push_bursts(&mut out.segments[first..]);
        }
        if self.resend.is_wanted() {
            self.resend_doubtful(stamp, out);
        }
        out.segments.len() - before
    }

    /// Sets PSH on the last segment of each group that the kernel would hand to the device
    /// together.
    #[inline]
    fn push_bursts(&mut self, left: &mut [Segment]) {
        if !left.is_empty() && self.buffer.push_ends_writes() {
            self.push_each_burst(left);
        }
    }

    #[inline(never)] // historic senders never come here
    fn push_each_burst(&mut self, left: &mut [Segment]) {
        let least = self.buffer.least_burst();
        let (most, mss) = (self.window.burst(least, &context!(self)), self.path.mss);
        self.buffer.push_bursts(left, most, mss);
    }

    /// Sends what was never sent, or is sent again after a timeout.
    #[inline]
    fn send_new(&mut self, stamp: &Stamp, out: &mut Outbox) {
        if let Some(larger) = self.path.mind_the_limit(self.now) {
            // Otherwise no full segment would fit into a window that was cut to one of the small.
            self.window.holds(larger);
        }
        if self.seq.idle_again() && self.window.may_restart() {
            self.restart_after_idle();
        }
        if self.path.is_searched() && !self.search_the_path(stamp, out) {
            self.mind_the_persist_timer();
            return;
        }
        let mut limit = self.limit();
        // BSD's quirk: idleness is tested here, once, above `again:`.
        let entry = Entry {
            idle: self.seq.idle(),
            outstanding: self.seq.outstanding(),
            over_mss: limit.since(self.seq.nxt) > u64::from(self.path.mss),
            size: self.path.segment_size(stamp.sack_octets),
        };
        while let Some((len, because)) = self.next_segment(limit, &entry) {
            if self.send(len, because, stamp, out) {
                limit = self.limit();
            }
        }
        self.mind_the_persist_timer();
    }

    #[cold]
    fn restart_after_idle(&mut self) {
        self.window.restart_by_rule(&context!(self));
    }

    /// Sends a probe of the path's MTU if one is due and possible. Returns whether the pass goes on.
    #[cold]
    fn search_the_path(&mut self, stamp: &Stamp, out: &mut Outbox) -> bool {
        let prospect = Prospect {
            in_order: self.loss.arrives_in_order(),
            in_network: self.loss.in_network(&context!(self)),
            cwnd: self.window.cwnd,
            sack_octets: stamp.sack_octets,
        };
        let start = self.seq.nxt;
        let context = context!(self);
        let len = match self.path.consider_a_probe(&prospect, &context) {
            Wish::Nothing => return true,
            Wish::Drain => return false,
            Wish::Probe(len) => len,
        };
        let Some((len, because)) = self.in_its_turn(len, Because::Full) else {
            return false;
        };
        self.send_one(len, because, stamp, out);
        self.path
            .probe_left(Span::new(start, start + u64::from(len)));
        true
    }

    /// Returns whether there is anything that a pass could send: data, a FIN or a retransmission.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.seq.has_unsent() || self.resend.is_wanted()
    }

    /// Counts a segment without data that left without the sender: a bare acknowledgment.
    #[inline]
    pub(crate) fn count_empty(&mut self) {
        self.counters.empty_segments += 1;
    }

    /// Returns the octets that window and buffer allow now (`len` in figure 3).
    pub(super) fn sendable(&self) -> u64 {
        self.limit().since(self.seq.nxt)
    }

    /// Returns one past the last octet that window and buffer allow now.
    #[inline]
    fn limit(&self) -> Offset {
        let cwnd_end = self.loss.window_end(self.window.cwnd, &context!(self));
        self.seq.written.min(cwnd_end).min(self.seq.window_end())
    }

    /// Decides how much of what begins at SND.NXT leaves now, and why.
    #[inline]
    fn next_segment(&mut self, limit: Offset, entry: &Entry) -> Option<(u32, Because)> {
        let len = limit.since(self.seq.nxt);
        // Most passes end here.
        if len == 0 && !self.seq.finishing {
            return None;
        }
        if len >= u64::from(entry.size) {
            let because = self.because(Because::Full);
            return self.in_its_turn(entry.size, because);
        }
        let end = self.seq.nxt + len;
        let empties = end == self.seq.written;
        let resending = self.seq.nxt < self.seq.max;
        if empties && self.seq.finishing {
            // The FIN leaves with the last data, or alone if the data has left.
            let fin_unsent = self.seq.nxt <= self.seq.written;
            let goes = fin_unsent && (len > 0 || self.seq.fin_fits());
            return goes.then_some((len as u32, self.because(Because::Fin)));
        }
        if len == 0 {
            return None;
        }
        if resending {
            return Some((len as u32, Because::Retransmission));
        }
        let offer = || Offer {
            span: Span::new(self.seq.nxt, end),
            empties,
            idle_on_entry: entry.idle,
            pass_over_mss: entry.over_mss,
            outstanding_on_entry: entry.outstanding,
            held_since: self.small.held_since(self.seq.nxt),
        };
        let because = match self.small.verdict(empties, offer, view!(self)) {
            Verdict::Send(because) => because,
            // 4.4BSD: half of the largest window ever offered is enough for a segment.
            Verdict::Hold { .. } if len >= self.seq.max_wnd / 2 => Because::HalfWindow,
            Verdict::Hold { why, until } => {
                self.keep(why, until);
                return None;
            }
        };
        self.in_its_turn(len as u32, because)
    }

    /// Returns the segment, unless a paced flight makes it wait.
    #[inline]
    fn in_its_turn(&mut self, len: u32, because: Because) -> Option<(u32, Because)> {
        if self.window.restart.lets_leave(self.now) && self.leaves_by_rate(len) {
            return Some((len, because));
        }
        self.keep(Why::Pacing, None);
        None
    }

    /// Returns whether a segment of `len` octets may leave by the pacing rate, if there is one.
    #[inline]
    pub(super) fn leaves_by_rate(&mut self, len: u32) -> bool {
        !self.window.is_paced() || self.ask_the_pacer(len)
    }

    #[inline(never)] // most senders are not paced
    fn ask_the_pacer(&mut self, len: u32) -> bool {
        let departure = Departure {
            len,
            sent_before: self.counters.data_segments,
            least_burst: self.buffer.least_burst(),
        };
        self.window.leaves_by_rate(&departure, &context!(self))
    }

    pub(super) fn because(&self, otherwise: Because) -> Because {
        if self.seq.nxt < self.seq.max {
            Because::Retransmission
        } else {
            otherwise
        }
    }

    fn keep(&mut self, why: Why, until: Option<Instant>) {
        let (start, now) = (self.seq.nxt, self.now);
        self.small
            .keep(start, (why, until), now, &mut self.counters);
    }

    /// Sends `len` octets at SND.NXT, and the FIN if they are the last. Returns whether that moves the limit.
    #[inline(always)]
    fn send(&mut self, len: u32, because: Because, stamp: &Stamp, out: &mut Outbox) -> bool {
        let now = self.now;
        let seq = self.seq.nxt;
        let data_end = seq + u64::from(len);
        let fin = data_end == self.seq.written && self.seq.finishing && self.seq.fin_fits();
        self.emit(seq, len, fin, stamp, out);
        let end = data_end + u64::from(fin);
        self.seq.nxt = end;
        self.small.release();
        if end > self.seq.max {
            self.seq.max = end;
            self.rtt.sent(end, now);
        }
        self.timers.sent(now, &self.rtt);
        let moves_the_limit = match &mut self.loss {
            Loss::ByAcks(_) => false,
            Loss::Scoreboard(selective) => {
                let (span, octets) = (Span::new(seq, end), len.into());
                selective.sent(span, octets, &mut self.timers, &context!(self));
                true
            }
        };
        self.note_sent(seq, len, because, stamp);
        moves_the_limit
    }

    /// Sends one segment. Used where single segments are sent; the loop over new data has its own
    /// inlined copy.
    #[inline(never)]
    pub(super) fn send_one(&mut self, len: u32, because: Because, stamp: &Stamp, out: &mut Outbox) {
        self.send(len, because, stamp, out);
    }

    #[inline]
    pub(super) fn emit(
        &mut self,
        seq: Offset,
        len: u32,
        fin: bool,
        stamp: &Stamp,
        out: &mut Outbox,
    ) {
        let pushes = len > 0 && self.buffer.pushes(seq + u64::from(len), &self.seq);
        let ecn = match self.window.ecn.is_on() && len > 0 && seq >= self.seq.max {
            true => self.window.ecn.of_new_data(),
            false => Flags::NONE,
        };
        out.segments.push(Segment {
            seq,
            ack: stamp.ack,
            len,
            window: stamp.window,
            flags: Flags::ACK
                .with_if(pushes, Flags::PSH)
                .with_if(fin, Flags::FIN)
                .with(stamp.flags)
                .with(ecn),
            options: stamp.options,
        });
        self.window.restart.sent(self.now);
    }

    /// Counts a segment that left, and tells the policy.
    #[inline(always)]
    pub(super) fn note_sent(&mut self, seq: Offset, len: u32, because: Because, stamp: &Stamp) {
        if len > 0 {
            let short = len < self.path.segment_size(stamp.sack_octets);
            self.counters.data_segments += 1;
            self.counters.data_octets += u64::from(len);
            self.counters.short_segments += u64::from(short);
            self.counters.retransmitted_segments += u64::from(because == Because::Retransmission);
            let sent = Moment::Sent {
                span: Span::new(seq, seq + u64::from(len)),
                short,
                because,
            };
            self.small.observe(sent, view!(self));
        } else {
            self.counters.empty_segments += 1;
        }
    }

    /// Starts the persist timer if there is unsent data without a retransmission timer or a
    /// deadline of its own. So no policy can hold forever.
    #[inline]
    fn mind_the_persist_timer(&mut self) {
        if self.timers.retransmitting() {
            return;
        }
        let has_deadline = !self.small.asked_again_at().is_off() || self.window.delays();
        if self.seq.has_unsent() && !has_deadline {
            self.timers.start_persist(self.now, &self.rtt);
        } else {
            self.timers.stop_persist();
        }
    }

    /// Sends the SYN, or the SYN that answers one.
    pub(crate) fn send_syn(&mut self, now: Instant, syn: &Syn, out: &mut Outbox) {
        out.segments.push(Segment {
            seq: Offset::SYN,
            ack: syn.ack.unwrap_or_default(),
            len: 0,
            // A SYN's window is never scaled, so 16 bits must hold it (RFC 7323, section 2.2).
            window: syn.window.min(u32::from(u16::MAX)),
            flags: Flags::SYN
                .with_if(syn.ack.is_some(), Flags::ACK)
                .with(syn.flags),
            options: syn.options,
        });
        self.now = now;
        self.seq.nxt = Offset::FIRST;
        self.window.restart.sent(now);
        // Karn: the ACK of a SYN that was sent twice measures nothing.
        if self.seq.max < Offset::FIRST {
            self.seq.max = Offset::FIRST;
            self.rtt.sent(Offset::FIRST, now);
        }
        self.timers.sent(now, &self.rtt);
        self.counters.empty_segments += 1;
    }
}
