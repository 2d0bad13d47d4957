//! The receiving half: what has arrived, what was read, and what was acknowledged and announced.

pub mod ack_policy;
pub mod assembler;
mod autotuning;
mod sack;
mod scarcity;

use crate::offset::{Offset, Span};
use crate::segment::{Flags, Segment};
use crate::time::{Deadline, Instant};
use ack_policy::{AckMoment, AckPolicy, AckTimer, AckVerdict, AckView, Arrival, Rule};
use assembler::Assembler;
use sack::SackMemory;

/// The rules a receiver follows.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// The receive buffer (`so_rcv.sb_hiwat`), in octets.
    pub buffer: u64,
    /// The largest window that can be advertised, in octets: at most 65,535 without window scaling.
    /// If scaling was offered in vain, no more than 65,535 are used.
    pub window_cap: u64,
    /// The largest segment to accept, in octets; sent as the MSS option.
    pub mss: u16,
    /// When to acknowledge.
    pub policy: AckPolicy,
    /// How long an acknowledgment may wait.
    pub timer: AckTimer,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    nxt: Offset,
    /// The end of the data in order: RCV.NXT without the FIN, which takes a sequence number but is nothing to read.
    data_end: Offset,
    /// The acknowledgment number last sent.
    acked: Offset,
    /// The right edge last advertised; it never moves back (RFC 9293, section 3.8.6).
    advertised: Offset,
    /// How far the application has read.
    read: Offset,
    capacity: u64,
    /// The size to which the buffer may grow, in octets; 0 if it does not grow.
    most: u64,
    /// `capacity` and `most` as they are without a bound, while there is one.
    unlimited: Option<(u64, u64)>,
    tuning: autotuning::Tuning,
    /// The configured cap; `window_cap` is what remains of it after the peer's SYN.
    own_window_cap: u64,
    window_cap: u64,
    /// Rcv.Wind.Shift (RFC 7323, section 2.3).
    window_shift: u8,
    mss: u16,
    /// A window that would grow by less than this stays as it is (RFC 9293, section 3.8.6.2.2).
    least_growth: u64,
    /// The octets of data in a full-sized segment of the peer, as far as both SYNs tell.
    full_segment: u32,
    assembler: Assembler,
    /// What SACK blocks need besides the ranges, once both sides permitted them.
    sack: Option<SackMemory>,
    /// Whether data that came twice is reported.
    dsack: bool,
    /// The offset of the peer's FIN, once it has been seen.
    fin: Option<Offset>,
    policy: ack_policy::Installed,
    timer: AckTimer,
    /// The last deadline that was looked up, and the time of the look-up.
    tick: (Instant, Instant),
    /// When a delayed acknowledgment leaves, if one waits.
    delayed_until: Deadline,
    ack_now: bool,
}

/// The largest window that the header field holds.
const UNSCALED: u64 = u16::MAX as u64;

/// Returns a segment as policies see it.
#[inline]
fn arrival(segment: &Segment) -> Arrival {
    Arrival {
        len: segment.len,
        end: segment.data().end,
        push: segment.flags.has(Flags::PSH),
    }
}

/// The result of a segment's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Whether there is more to read.
    pub data: bool,
    /// Whether the peer's FIN is now in order.
    pub fin: bool,
}

impl Receiver {
    /// Returns a receiver that has received nothing yet.
    #[must_use]
    pub fn new(config: &ReceiverConfig) -> Self {
        let edge = Offset::SYN + config.buffer.min(config.window_cap);
        Self {
            nxt: Offset::SYN,
            data_end: Offset::SYN,
            acked: Offset::SYN,
            advertised: edge,
            read: Offset::SYN,
            capacity: config.buffer,
            most: 0,
            unlimited: None,
            tuning: autotuning::Tuning::default(),
            own_window_cap: config.window_cap,
            window_cap: config.window_cap,
            window_shift: 0,
            mss: config.mss,
            least_growth: u64::from(config.mss).min(config.buffer / 4),
            full_segment: u32::from(config.mss),
            assembler: Assembler::default(),
            sack: None,
            dsack: false,
            fin: None,
            policy: config.policy.clone().install(),
            timer: config.timer,
            tick: (Instant::ZERO, Instant::ZERO),
            delayed_until: Deadline::OFF,
            ack_now: false,
        }
    }

    /// Takes in the peer's SYN.
    pub(crate) fn synchronise(&mut self) {
        self.nxt = Offset::FIRST;
        self.data_end = Offset::FIRST;
        self.acked = Offset::SYN;
        self.read = Offset::FIRST;
        self.advertised = Offset::FIRST + self.largest_window().max(self.promised_by_the_syn());
    }

    /// Goes straight to an established connection.
    pub(crate) fn establish(&mut self) {
        self.synchronise();
        self.acked = Offset::FIRST;
    }

    /// Returns RCV.NXT.
    #[must_use]
    pub fn nxt(&self) -> Offset {
        self.nxt
    }

    /// Returns the octets that the application can read now.
    #[must_use]
    #[inline]
    pub fn readable(&self) -> u64 {
        self.data_end.since(self.read)
    }

    /// Returns how far the application has read.
    #[must_use]
    pub fn read_up_to(&self) -> Offset {
        self.read
    }

    /// Returns whether everything that the peer will ever send has been read.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.fin_received() && self.readable() == 0
    }

    /// Returns whether the peer's FIN is in order.
    #[must_use]
    pub fn fin_received(&self) -> bool {
        self.nxt > self.data_end
    }

    /// Returns the window to advertise. It never shrinks, and it does not grow in small steps
    /// (receiver's silly window avoidance, RFC 9293, section 3.8.6.2.2).
    #[must_use]
    #[inline]
    pub fn window(&self) -> u32 {
        let edge = self.could_advertise();
        let offer = edge.since(self.nxt);
        let promised = self.advertised.since(self.nxt);
        let window = if offer < self.least_growth {
            promised
        } else {
            offer.max(promised)
        };
        // RFC 7323, section 2.3: the window field is shifted to the right. What that cuts off was
        // promised and is still accepted (section 2.4, "MUST honor").
        (window >> self.window_shift << self.window_shift) as u32
    }

    /// Returns Rcv.Wind.Shift.
    #[must_use]
    pub fn window_shift(&self) -> u8 {
        self.window_shift
    }

    /// Returns the least shift with which the whole buffer can be announced; at most 14 (RFC 7323,
    /// section 2.3).
    pub(crate) fn wanted_window_shift(&self) -> u8 {
        let (capacity, most) = self.unlimited();
        let largest = most.max(capacity).min(self.own_window_cap);
        (0..14)
            .find(|shift| largest >> shift <= UNSCALED)
            .unwrap_or(14)
    }

    /// Sets whether both sides offered window scaling, or only this side did.
    pub(crate) fn agree_on_scaling(&mut self, agreed: bool) {
        self.window_shift = if agreed {
            self.wanted_window_shift()
        } else {
            0
        };
        self.window_cap = self.own_window_cap.min(UNSCALED << self.window_shift);
    }

    /// Takes in what the peer's SYN tells about the segments that will come. ACK policies count
    /// full-sized ones: the smaller of the two MSS minus the options of every segment (BSD:
    /// `t_maxseg`).
    pub(crate) fn expect_segments(&mut self, peer_mss: Option<u16>, option_octets: u32) {
        let bound = peer_mss.map_or(self.mss, |offered| self.mss.min(offered));
        self.full_segment = u32::from(bound).saturating_sub(option_octets).max(1);
    }

    /// Returns the largest window that is ever announced, in octets.
    pub(crate) fn largest_window(&self) -> u64 {
        self.capacity.min(self.window_cap)
    }

    /// Returns Last.ACK.sent (RFC 7323, section 4.3).
    pub(crate) fn last_ack_sent(&self) -> Offset {
        self.acked
    }

    /// Returns the MSS to announce.
    #[must_use]
    pub fn mss(&self) -> u16 {
        self.mss
    }

    /// Returns the ranges that wait for a hole to be filled.
    #[must_use]
    pub fn out_of_order(&self) -> &[Span] {
        self.assembler.ranges()
    }

    pub(crate) fn set_policy(&mut self, policy: AckPolicy, timer: AckTimer) {
        self.policy = policy.install();
        self.timer = timer;
        self.tick = (Instant::ZERO, Instant::ZERO);
    }

    /// Returns whether the segment touches the window (RFC 9293, section 3.10.7.4, first check).
    pub(crate) fn acceptable(&self, segment: &Segment) -> bool {
        let end = self.advertised.max(self.nxt);
        match segment.sequence_len() {
            // The RFC's table excludes the right edge itself. But every bare ACK lies there if the
            // peer's data fills the window and is partly lost.
            0 => self.nxt <= segment.seq && segment.seq <= end,
            _ => (segment.seq < end || self.is_next_fin(segment)) && segment.end() > self.nxt,
        }
    }

    /// Returns whether the segment is a FIN, alone and in order. A FIN takes a sequence number and
    /// no room, so it is accepted although the window is closed; otherwise its sender would ask
    /// again until somebody reads. BSD and Linux do so.
    fn is_next_fin(&self, segment: &Segment) -> bool {
        segment.len == 0
            && segment.flags.has(Flags::FIN)
            && !segment.flags.has(Flags::SYN)
            && segment.seq == self.nxt
    }

    /// Returns whether a sequence number lies in the window, its right edge excluded.
    pub(crate) fn window_holds(&self, seq: Offset) -> bool {
        self.nxt <= seq && seq < self.advertised
    }

    /// Takes in a segment's data and FIN.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, segment: &Segment, now: Instant) -> Arrived {
        let span = segment.data();
        let nothing_waits = self.assembler.is_empty() && self.fin.is_none();
        let in_order = span.start == self.nxt && nothing_waits;
        if in_order && span.end <= self.advertised && !segment.flags.any(Flags::FIN) {
            self.nxt = span.end;
            self.data_end = span.end;
            self.in_order(segment, now);
            return Arrived {
                data: true,
                fin: false,
            };
        }
        self.on_unusual_data(segment, now)
    }

    #[inline(never)]
    fn on_unusual_data(&mut self, segment: &Segment, now: Instant) -> Arrived {
        // Only what lies in the window. The FIN counts only if nothing before it was cut off.
        let all = segment.data();
        let span = Span::new(all.start.max(self.nxt), all.end.min(self.advertised));
        let something_waits = !self.assembler.is_empty() || self.fin.is_some();
        if segment.flags.has(Flags::FIN) && span.end >= all.end {
            self.learn_fin(all.end);
        }
        self.note_for_sack(all, span);
        let before = self.nxt;
        let beside_a_hole = something_waits || all.start != before;
        let remembered = self.remember(span);
        let fin = self.fin == Some(self.nxt);
        if fin {
            self.nxt += 1;
        }
        let data = self.nxt > before;
        if beside_a_hole || !data || !remembered {
            // RFC 5681, section 4.2: out-of-order data, and data that fills all or part of a hole,
            // is acknowledged at once.
            self.ack_now = true;
        } else if fin {
            let verdict = self.policy.on_fin(&arrival(segment), &self.view(now));
            self.heed(verdict, now);
        } else {
            self.in_order(segment, now);
        }
        Arrived { data, fin }
    }

    /// Learns where the stream ends. A FIN that contradicts an earlier one, or data already here,
    /// is ignored.
    fn learn_fin(&mut self, end: Offset) {
        let here = self.assembler.end().unwrap_or(self.nxt);
        if self.fin.is_none() && end >= here {
            self.fin = Some(end);
        }
    }

    /// Stores `span`, which begins at RCV.NXT or later; returns whether it is kept.
    fn remember(&mut self, span: Span) -> bool {
        // Nothing follows a FIN.
        let end = self.fin.map_or(span.end, |fin| span.end.min(fin));
        let span = Span::new(span.start, end);
        if span.start > self.nxt {
            return self.assembler.insert(span);
        }
        // Data in order needs no place among the ranges, of which there may be too many.
        self.nxt = self.assembler.advance(self.nxt.max(span.end));
        self.data_end = self.fin.map_or(self.nxt, |fin| self.nxt.min(fin));
        true
    }

    #[inline(always)]
    fn in_order(&mut self, segment: &Segment, now: Instant) {
        let view = self.view(now);
        let verdict = self.policy.on_arrival(&arrival(segment), &view);
        self.heed(verdict, now);
    }

    /// Lets the application take up to `max` octets as a part of a read that goes on: the buffer
    /// empties, but no ACK is decided yet.
    pub(crate) fn read_part(&mut self, max: u64) -> u64 {
        let octets = self.readable().min(max);
        self.read += octets;
        octets
    }

    /// Lets the application take up to `max` octets.
    #[inline]
    pub(crate) fn read(&mut self, max: u64, now: Instant) -> u64 {
        let octets = self.readable().min(max);
        self.read += octets;
        // A peer that has sent its FIN needs no window, but it may wait for an acknowledgment.
        if octets > 0 && (self.fin.is_none() || !self.delayed_until.is_off()) {
            let view = self.view(now);
            let verdict = self.policy.on_read(&view);
            self.heed(verdict, now);
        }
        octets
    }

    #[inline]
    fn heed(&mut self, verdict: AckVerdict, now: Instant) {
        match verdict {
            AckVerdict::Now => self.ack_now = true,
            AckVerdict::Nothing => {}
            AckVerdict::Delay if self.delayed_until.is_off() => {
                self.delayed_until = Deadline::at(self.deadline(now));
            }
            AckVerdict::Delay => {}
            AckVerdict::DelayUntil(until) => {
                self.delayed_until = self.delayed_until.min(Deadline::at(until));
            }
        }
    }

    /// Handles TCP_QUICKACK: tells the policy, and an ACK that waits leaves.
    pub(crate) fn set_quick_ack(&mut self, on: bool, now: Instant) {
        let view = self.view(now);
        self.policy.observe(AckMoment::QuickAck(on), &view);
        self.ack_now |= on && !self.delayed_until.is_off();
    }

    /// Forgets all owed acknowledgments, because the connection is gone.
    pub(crate) fn forget(&mut self) {
        self.delayed_until = Deadline::OFF;
        self.ack_now = false;
    }

    /// Returns when an ACK that is first delayed now leaves. The next free-running tick stays the
    /// next one until it has come, so most segments need no new look-up.
    #[inline]
    fn deadline(&mut self, now: Instant) -> Instant {
        let (since, tick) = self.tick;
        if since <= now && now < tick && self.timer.is_cyclic() {
            return tick;
        }
        self.tick = (now, self.timer.deadline(now));
        self.tick.1
    }

    /// Returns whether an acknowledgment is to leave at once.
    #[must_use]
    #[inline]
    pub(crate) fn wants_ack(&self) -> bool {
        self.ack_now
    }

    /// Demands that an acknowledgment leaves at once.
    pub(crate) fn demand_ack(&mut self) {
        self.ack_now = true;
    }

    /// Returns when a delayed acknowledgment leaves.
    #[inline]
    pub(crate) fn delayed_until(&self) -> Deadline {
        self.delayed_until
    }

    /// Handles the passing of time.
    pub(crate) fn on_wakeup(&mut self, now: Instant) {
        if self.delayed_until.is_due(now) {
            self.delayed_until = Deadline::OFF;
            self.ack_now = true;
            let view = self.view(now);
            self.policy.observe(AckMoment::TimerFired, &view);
        }
    }

    /// Records that a segment with RCV.NXT and `window` left.
    #[inline(always)]
    pub(crate) fn acknowledged(&mut self, window: u32, with_data: bool, now: Instant) {
        self.acked = self.nxt;
        if let Some(memory) = &mut self.sack {
            memory.reported();
        }
        self.advertised = self.advertised.max(self.nxt + u64::from(window));
        self.delayed_until = Deadline::OFF;
        self.ack_now = false;
        let view = self.view(now);
        self.policy.observe(AckMoment::AckSent { with_data }, &view);
    }

    #[inline]
    fn view(&self, now: Instant) -> AckView {
        AckView {
            now,
            nxt: self.nxt,
            acked: self.acked,
            advertised: self.advertised,
            could_advertise: self.could_advertise(),
            unread: self.readable(),
            capacity: self.capacity,
            mss: self.full_segment,
        }
    }

    #[inline]
    fn could_advertise(&self) -> Offset {
        let free = self.capacity.saturating_sub(self.readable());
        self.nxt + free.min(self.window_cap)
    }
}

#[cfg(test)]
mod tests;
