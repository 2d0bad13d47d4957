//! The output pass: one run of BSD's `tcp_output`.

use super::congestion::restart::{Idle, IdleRestart};
use super::send_policy::{Because, Moment, Offer, Rule, Verdict, Why};
use super::{Hold, Sender};
use crate::offset::{Offset, Span};
use crate::options::Options;
use crate::outbox::Outbox;
use crate::segment::{Flags, Segment};
use crate::time::{Duration, Instant};

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

/// A flight that is being spread over a round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    interval: Duration,
    pub(super) next: Instant,
    /// Whether a segment is ready and waits for `next`.
    pub(super) waiting: bool,
}

/// The state of the connection when the pass began.
struct Entry {
    idle: bool,
    outstanding: u64,
    over_mss: bool,
    /// The largest segment that leaves in this pass.
    size: u32,
}

/// How soon a policy is asked again at the earliest after a moment that it named has come.
const AGAIN: Duration = Duration::from_micros(10);

impl Sender {
    /// Sends everything that may leave now. Returns the number of segments that left.
    pub(crate) fn pass(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) -> usize {
        self.vars.now = now;
        let before = out.segments.len();
        if self.device_full {
            self.mind_the_persist_timer();
            return 0;
        }
        self.begin_burst();
        if self.resend.is_wanted() {
            self.resend(stamp, out);
            self.push_bursts(&mut out.segments[before..]);
        }
        if self.vars.nxt < self.vars.written + u64::from(self.finishing) {
            let first = out.segments.len();
            self.send_new(stamp, out);
            self.push_bursts(&mut out.segments[first..]);
        }
        if self.resend.is_wanted() {
            self.resend_doubtful(stamp, out);
        }
        out.segments.len() - before
    }

    fn resend(&mut self, stamp: &Stamp, out: &mut Outbox) {
        if self.selective.is_some() {
            self.resend_lost(stamp, out);
        } else {
            self.resend_first(stamp, out);
        }
    }

    /// Sends what was never sent, or is sent again after a timeout.
    #[inline]
    fn send_new(&mut self, stamp: &Stamp, out: &mut Outbox) {
        self.mind_the_path_limit();
        self.restart_after_idle();
        // Most searches never begin. Their senders compute nothing for a probe.
        let searches = self.path_search.as_ref().is_some_and(|it| it.is_on());
        if searches && !self.search_the_path(stamp, out) {
            self.mind_the_persist_timer();
            return;
        }
        let mut limit = self.limit();
        // BSD's quirk: idleness is tested here, once, above `again:`.
        let entry = Entry {
            idle: self.vars.idle(),
            outstanding: self.vars.outstanding(),
            over_mss: limit.since(self.vars.nxt) > u64::from(self.vars.mss),
            size: self.segment_size(stamp),
        };
        while let Some((len, because)) = self.next_segment(limit, &entry) {
            self.send(len, because, stamp, out);
            if self.selective.is_some() {
                limit = self.limit();
            }
        }
        self.mind_the_persist_timer();
    }

    /// Returns the MSS minus what SACK blocks take in this segment (RFC 6691, section 2).
    #[inline]
    pub(super) fn segment_size(&self, stamp: &Stamp) -> u32 {
        self.vars.mss.saturating_sub(stamp.sack_octets).max(1)
    }

    /// Returns whether there is anything that a pass could send: data, a FIN or a retransmission.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.vars.nxt < self.vars.written + u64::from(self.finishing) || self.resend.is_wanted()
    }

    /// Counts a segment without data that left without the sender: a bare acknowledgment.
    #[inline]
    pub(crate) fn count_empty(&mut self) {
        self.counters.empty_segments += 1;
    }

    /// Returns the octets that window and buffer allow now (`len` in figure 3).
    fn sendable(&self) -> u64 {
        self.limit().since(self.vars.nxt)
    }

    /// Returns one past the last octet that window and buffer allow now. Sending does not move it,
    /// unless a scoreboard counts what the network carries.
    #[inline]
    fn limit(&self) -> Offset {
        let vars = &self.vars;
        let cwnd_end = match &self.selective {
            None => vars.una + vars.cwnd + self.recovery.limited_transmit(),
            // RFC 6675, section 5, step C: cwnd bounds what the network carries.
            Some(selective) => {
                let room = vars.cwnd.saturating_sub(selective.board.pipe());
                let mss = u64::from(vars.mss).max(1);
                let room = match self.counts_segments {
                    true => room / mss * mss,
                    false => room,
                };
                vars.nxt + room
            }
        };
        vars.written.min(cwnd_end).min(vars.una + vars.wnd)
    }

    /// Decides how much of what begins at SND.NXT leaves now, and why.
    #[inline]
    fn next_segment(&mut self, limit: Offset, entry: &Entry) -> Option<(u32, Because)> {
        let len = limit.since(self.vars.nxt);
        if len >= u64::from(entry.size) {
            let because = self.because(Because::Full);
            return self.in_its_turn(entry.size, because);
        }
        let end = self.vars.nxt + len;
        let empties = end == self.vars.written;
        let resending = self.vars.nxt < self.vars.max;
        if empties && self.finishing {
            // The FIN leaves with the last data, or alone if the data has left.
            let fin_unsent = self.vars.nxt <= self.vars.written;
            let goes = fin_unsent && (len > 0 || self.fin_fits());
            return goes.then_some((len as u32, self.because(Because::Fin)));
        }
        if len == 0 {
            return None;
        }
        if resending {
            return Some((len as u32, Because::Retransmission));
        }
        let because = match self.verdict(Span::new(self.vars.nxt, end), empties, entry) {
            Verdict::Send(because) => because,
            // 4.4BSD: half of the largest window ever offered is enough for a segment.
            Verdict::Hold { .. } if len >= self.vars.max_wnd / 2 => Because::HalfWindow,
            Verdict::Hold { why, until } => {
                self.keep(why, until);
                return None;
            }
        };
        self.in_its_turn(len as u32, because)
    }

    /// Returns the segment, unless a paced flight makes it wait.
    #[inline]
    pub(super) fn in_its_turn(&mut self, len: u32, because: Because) -> Option<(u32, Because)> {
        if self.paced() && self.leaves_by_rate(len) {
            return Some((len, because));
        }
        self.keep(Why::Pacing, None);
        None
    }

    /// Returns whether the peer's window has room for the FIN, which takes a sequence number;
    /// outside the window it would be dropped (RFC 9293, section 3.10.7.4, first check). `cwnd`
    /// does not count it.
    fn fin_fits(&self) -> bool {
        self.vars.written < self.vars.una + self.vars.wnd
    }

    fn because(&self, otherwise: Because) -> Because {
        if self.vars.nxt < self.vars.max {
            Because::Retransmission
        } else {
            otherwise
        }
    }

    /// Returns the verdict on a runt: first the rules that apply to every policy, then the policy.
    fn verdict(&self, span: Span, empties: bool, entry: &Entry) -> Verdict {
        if !empties && !self.policy.takes_window_cuts() {
            return Verdict::hold(Why::WindowCuts);
        }
        // "As soon as an acknowledgment arrives to free up buffer space, send() will provide
        // additional data" (Mogul & Minshall, section 5.4); where it will not, the runt must go.
        let more = self.vars.more_to_come && !self.vars.writer_deadlocks();
        if more && self.includes_more() {
            return Verdict::hold(Why::MoreToCome);
        }
        let offer = Offer {
            span,
            empties,
            idle_on_entry: entry.idle,
            pass_over_mss: entry.over_mss,
            outstanding_on_entry: entry.outstanding,
            held_since: self
                .hold
                .filter(|hold| hold.start == span.start)
                .map(|hold| hold.since),
        };
        if self.vars.corked {
            return offer.corked(Why::Corked, &self.vars);
        }
        match self.policy.decide(&offer, &self.vars) {
            Verdict::Hold { why, .. } if self.vars.nodelay && !why.outranks_nodelay() => {
                Verdict::Send(Because::NoDelay)
            }
            verdict => verdict,
        }
    }

    /// Returns whether a thread that is about to sleep may release what is held; if not, there is
    /// no pass.
    #[inline]
    pub(crate) fn heeds_blocking(&self) -> bool {
        self.vars.corked || self.includes_more() || self.policy.heeds_blocking()
    }

    fn includes_more(&self) -> bool {
        self.more_in_every_variant || self.policy.includes_more()
    }

    fn keep(&mut self, why: Why, until: Option<Instant>) {
        let start = self.vars.nxt;
        // A user's policy may name a moment that has come, or always the next one: the sender would be
        // woken forever.
        let soonest = self.vars.now + AGAIN;
        let has_come = until.is_some_and(|until| until <= self.vars.now);
        let until = if has_come { Some(soonest) } else { until };
        match &mut self.hold {
            Some(hold) if hold.start == start && hold.why == why => {
                let was_woken = hold.until.is_none();
                hold.until = until.map(|until| match was_woken {
                    true => until.max(soonest),
                    false => until,
                });
            }
            hold => {
                let since = hold
                    .filter(|h| h.start == start)
                    .map_or(self.vars.now, |h| h.since);
                *hold = Some(Hold {
                    start,
                    why,
                    since,
                    until,
                });
                self.counters.holds[why as usize] += 1;
            }
        }
    }

    /// Sends `len` octets at SND.NXT, and the FIN if they are the last.
    #[inline(always)]
    fn send(&mut self, len: u32, because: Because, stamp: &Stamp, out: &mut Outbox) {
        let now = self.vars.now;
        let seq = self.vars.nxt;
        let data_end = seq + u64::from(len);
        let fin = data_end == self.vars.written && self.finishing && self.fin_fits();
        self.emit(seq, len, fin, stamp, out);
        let end = data_end + u64::from(fin);
        self.vars.nxt = end;
        self.hold = None;
        if end > self.vars.max {
            self.vars.max = end;
            self.rtt.sent(end, now);
        }
        self.timers.sent(now, &self.rtt);
        if let Some(selective) = &mut self.selective {
            selective.board.sent(Span::new(seq, end), now);
            self.schedule_tail_probe();
        }
        self.note_sent(seq, len, because, stamp);
    }

    /// Sends one segment. Used where single segments are sent; the loop over new data has its own
    /// inlined copy.
    #[inline(never)]
    pub(super) fn send_one(&mut self, len: u32, because: Because, stamp: &Stamp, out: &mut Outbox) {
        self.send(len, because, stamp, out);
    }

    /// Retransmits `span`, and the FIN if it is part of it.
    pub(super) fn emit_again(&mut self, span: Span, stamp: &Stamp, out: &mut Outbox) {
        let len = span.end.min(self.vars.written).since(span.start) as u32;
        self.emit(span.start, len, span.end > self.vars.written, stamp, out);
        self.timers.sent(self.vars.now, &self.rtt);
        self.note_sent(span.start, len, Because::Retransmission, stamp);
    }

    #[inline]
    fn emit(&mut self, seq: Offset, len: u32, fin: bool, stamp: &Stamp, out: &mut Outbox) {
        let pushes = len > 0 && self.pushes(seq + u64::from(len));
        let ecn = match self.ecn.is_on() && len > 0 && seq >= self.vars.max {
            true => self.ecn.of_new_data(),
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
        self.last_sent = self.vars.now;
    }

    /// Counts a segment that left, and tells the policy.
    #[inline(always)]
    fn note_sent(&mut self, seq: Offset, len: u32, because: Because, stamp: &Stamp) {
        if len > 0 {
            self.count_for_rate_reduction(u64::from(len));
            let short = len < self.segment_size(stamp);
            self.counters.data_segments += 1;
            self.counters.data_octets += u64::from(len);
            self.counters.short_segments += u64::from(short);
            self.counters.retransmitted_segments += u64::from(because == Because::Retransmission);
            let span = Span::new(seq, seq + u64::from(len));
            self.policy.observe(
                Moment::Sent {
                    span,
                    short,
                    because,
                },
                &self.vars,
            );
        } else {
            self.counters.empty_segments += 1;
        }
    }

    /// Fast retransmit: resends the segment at SND.UNA, whatever the window (RFC 5681, section 3.2);
    /// more only if it was asked for.
    fn resend_first(&mut self, stamp: &Stamp, out: &mut Outbox) {
        self.resend.set_wanted(false);
        let (nxt, written, hold) = (self.vars.nxt, self.vars.written, self.hold);
        self.vars.nxt = self.vars.una;
        let size = u64::from(self.segment_size(stamp));
        let end = self.resend.end().max(self.vars.una + size).min(written);
        loop {
            let len = end.since(self.vars.nxt).min(size);
            self.send_one(len as u32, Because::Retransmission, stamp, out);
            if self.vars.nxt >= end {
                break;
            }
        }
        self.vars.nxt = nxt.max(self.vars.nxt);
        // What waits behind the flight continues to wait.
        self.hold = hold.filter(|hold| hold.start >= self.vars.nxt);
    }

    /// Handles the expiry of the persist timer: sends what was held although the window has room
    /// for it, otherwise one octet beyond a closed window (RFC 9293, section 3.8.6.1).
    pub(crate) fn probe(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) {
        self.vars.now = now;
        let held = self.sendable().min(u64::from(self.segment_size(stamp)));
        if held > 0 {
            // Linux: `tcp_write_wakeup` marks what it sends.
            self.push_what_is_written();
            self.send_one(held as u32, self.because(Because::Probe), stamp, out);
            return;
        }
        if self.empty_window_probes {
            self.push_empty_probe(stamp, out);
            self.timers.start_persist(now, &self.rtt);
            return;
        }
        let seq = self.vars.nxt;
        let unsent = self.vars.written.since(seq);
        let len = unsent.min(1);
        let fin = self.finishing && unsent == len;
        let push = self.pushes.is_some() && len > 0;
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
        self.vars.max = self.vars.max.max(seq + len + u64::from(fin));
        self.last_sent = now;
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
            seq: Offset::new(self.vars.una.get() - 1),
            ack: stamp.ack,
            len: 0,
            window: stamp.window,
            flags: Flags::ACK,
            options: stamp.options,
        });
        self.last_sent = self.vars.now;
        self.counters.empty_segments += 1;
    }

    #[inline]
    fn restart_after_idle(&mut self) {
        let nothing_sent_yet = self.vars.max <= Offset::FIRST;
        if self.vars.idle() && !nothing_sent_yet && self.idle_restart != IdleRestart::None {
            self.restart_by_rule();
        }
    }

    #[cold]
    fn restart_by_rule(&mut self) {
        let idle = Idle {
            last_sent: self.last_sent,
            last_acked: self.last_acked,
            last_heard: self.last_heard,
            now: self.vars.now,
            rto: self.rtt.rto(),
            srtt: self.rtt.srtt(),
            cwnd: self.vars.cwnd,
            ssthresh: self.vars.ssthresh,
            offered: self.vars.wnd,
            initial: self.initial_cwnd,
            mss: u64::from(self.vars.mss),
        };
        if self.pace.is_none()
            && let Some(restarted) = self.idle_restart.apply(&idle)
        {
            self.vars.cwnd = restarted.cwnd;
            self.vars.ssthresh = restarted.ssthresh;
            if restarted.pace > Duration::ZERO {
                let (interval, next) = (restarted.pace, self.vars.now);
                self.pace = Some(Pace {
                    interval,
                    next,
                    waiting: false,
                });
            }
        }
    }

    /// Returns whether a paced flight lets a segment leave now; if so, the next one must wait.
    #[inline]
    fn paced(&mut self) -> bool {
        let Some(pace) = &mut self.pace else {
            return true;
        };
        pace.waiting = pace.next > self.vars.now;
        if !pace.waiting {
            pace.next = self.vars.now + pace.interval;
        }
        !pace.waiting
    }

    /// Starts the persist timer if there is unsent data without a retransmission timer or a
    /// deadline of its own. So no policy can hold forever.
    #[inline]
    fn mind_the_persist_timer(&mut self) {
        if self.timers.retransmitting() {
            return;
        }
        let unsent = self.vars.nxt < self.vars.written + u64::from(self.finishing);
        let has_deadline = self.hold.is_some_and(|hold| hold.until.is_some())
            || self.pace.is_some_and(|pace| pace.waiting)
            || self.pacer_deadline().is_some();
        if unsent && !has_deadline {
            self.timers.start_persist(self.vars.now, &self.rtt);
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
        self.vars.now = now;
        self.vars.nxt = Offset::FIRST;
        self.last_sent = now;
        // Karn: the ACK of a SYN that was sent twice measures nothing.
        if self.vars.max < Offset::FIRST {
            self.vars.max = Offset::FIRST;
            self.rtt.sent(Offset::FIRST, now);
        }
        self.timers.sent(now, &self.rtt);
        self.counters.empty_segments += 1;
    }
}
