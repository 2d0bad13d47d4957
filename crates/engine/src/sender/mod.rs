//! The sending half: its variables, the output pass, and what an acknowledgment changes.
//!
//! `Sender::pass` is the paper's `tcp_output`: it looks at the buffer and the window, sends what
//! must go, and asks the policy about what is left. It is the only place where data leaves.

mod black_hole;
pub mod congestion;
mod counters;
mod device;
mod ecn;
mod pacing;
mod pass;
mod path_mtu;
mod push;
mod rack;
mod rate_reduction;
mod recovery;
mod report;
mod resend;
mod rtt;
mod scoreboard;
mod selective;
pub mod send_policy;
mod slow_start;
mod tail_probe;
mod timers;
mod undo;

pub use counters::Counters;
pub use pass::{Stamp, Syn};
pub use rtt::{Echo, RtoRules, RttEstimator};
pub use selective::{LossState, LossView};
pub use timers::{Expired, TimerReason};

use alloc::boxed::Box;

use crate::extensions::Extensions;
use crate::offset::Offset;
use crate::segment::Segment;
use crate::time::{Duration, Instant};
use congestion::{Ack, Congestion, Control, Window, restart::IdleRestart};
use recovery::Recovery;
use report::Report;
use resend::Resend;
use selective::Selective;
use send_policy::{Moment, Rule, SendPolicy, Vars, Why};

/// The rules a sender follows. Octets, unless said otherwise.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The largest segment to send; the peer's MSS option may lower it.
    pub mss: u32,
    /// The send buffer (`so_snd.sb_hiwat`).
    pub buffer: u64,
    /// Who decides about runts.
    pub policy: SendPolicy,
    /// MORE applies whatever the policy (Mogul & Minshall's kernel, as its results show).
    pub more_in_every_variant: bool,
    /// MCLBYTES, which some policies look at.
    pub cluster: u64,
    /// The congestion control algorithm.
    pub congestion: Congestion,
    /// What an idle time does to the congestion window.
    pub idle_restart: IdleRestart,
    /// The congestion window after the handshake.
    pub initial_cwnd: u64,
    /// The initial `ssthresh`; `cwnd` does not grow beyond it (fast recovery may inflate it for as
    /// long as it lasts, RFC 5681, section 3.2).
    pub cwnd_cap: u64,
    /// Bounds of the retransmission time-out.
    pub rto: RtoRules,
}

/// What a peer takes that sends no MSS option, in octets (RFC 9293, section 3.7.1, for IPv4).
const MSS_WITHOUT_OPTION: u32 = 536;

/// A peer that offers less than this is given this, in octets: one of a few octets would have every
/// write cut into as many segments (CVE-2019-11479; Linux: `tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48;

/// Beyond this, only two segments may leave at first where they are so large (RFC 6928, section 2), in octets.
const LARGEST_INITIAL_CWND: u64 = 14_600;

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// What policies see.
    vars: Vars,
    /// The largest segment to send, before the peer said anything about it.
    own_mss: u32,
    /// What options take of every segment.
    option_octets: u32,
    policy: send_policy::Installed,
    more_in_every_variant: bool,
    cwnd_cap: u64,
    /// As configured; `initial_cwnd` is what the MSS agreed on makes of it.
    own_initial_cwnd: u64,
    initial_cwnd: u64,
    bounds_initial_cwnd: bool,
    /// RFC 3042.
    limited_transmit: bool,
    black_hole_detection: bool,
    congestion: congestion::Installed,
    /// A loss reduces the window and not the flight.
    reduces_the_window: bool,
    /// What watches for the end of slow start.
    slow_start: Option<Box<slow_start::SlowStart>>,
    empty_window_probes: bool,
    /// A writer waits while so many octets are unsent, whatever room there is.
    notsent_low_water: u64,
    ecn: ecn::Ecn,
    /// The local device takes nothing.
    device_full: bool,
    idle_restart: IdleRestart,
    rtt: RttEstimator,
    recovery: Recovery,
    /// What a pass is to send again first.
    resend: Resend,
    /// The scoreboard and what reads it, once both sides permitted SACK.
    selective: Option<Box<Selective>>,
    timers: timers::Timers,
    hold: Option<Hold>,
    /// The segment numbers of the last window update: SND.WL1 and SND.WL2.
    wl1: Offset,
    wl2: Offset,
    /// When a segment last left; means nothing before the first one.
    last_sent: Instant,
    /// When something was last acknowledged.
    last_acked: Instant,
    /// When a segment last arrived.
    last_heard: Instant,
    /// While a paced restart lasts: its interval and when the next segment may leave.
    pace: Option<pass::Pace>,
    /// What spreads every flight.
    pacer: Option<Box<pacing::Pacer>>,
    /// Nothing follows what is in the buffer: a FIN is to be sent behind it.
    finishing: bool,
    /// Where PSH stands, if that is not where the buffer is emptied.
    pushes: Option<Box<push::Pushes>>,
    counters: Counters,
}

/// What is being kept back: a runt, or any segment of a paced flight that waits its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Where it starts.
    pub start: Offset,
    /// The reason.
    pub why: Why,
    /// Since when.
    pub since: Instant,
    /// When to ask again even if nothing else happens.
    pub until: Option<Instant>,
}

/// What an acknowledgment did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Octets of data that left the send buffer.
    pub released: u64,
    /// SYN or FIN acknowledged, or data.
    pub advanced: bool,
}

impl Sender {
    /// Returns a sender before its SYN.
    #[must_use]
    pub fn new(config: &SenderConfig, extensions: &Extensions) -> Self {
        let vars = Vars {
            now: Instant::ZERO,
            una: Offset::SYN,
            nxt: Offset::SYN,
            max: Offset::SYN,
            written: Offset::FIRST,
            mss: config.mss,
            wnd: 0,
            max_wnd: 0,
            cwnd: config.initial_cwnd,
            ssthresh: config.cwnd_cap,
            rto: config.rto.initial,
            cluster: config.cluster,
            capacity: config.buffer,
            more_to_come: false,
            nodelay: false,
            corked: false,
            reader_blocked: false,
            writer_blocked: false,
            writer_lacks_space: false,
            device_busy: false,
        };
        let mut sender = Self {
            vars,
            own_mss: config.mss,
            option_octets: 0,
            policy: config.policy.clone().install(),
            more_in_every_variant: config.more_in_every_variant,
            cwnd_cap: config.cwnd_cap,
            own_initial_cwnd: config.initial_cwnd,
            initial_cwnd: config.initial_cwnd,
            bounds_initial_cwnd: extensions.bounds_initial_cwnd,
            limited_transmit: extensions.limited_transmit,
            black_hole_detection: extensions.black_hole_detection,
            congestion: config.congestion.clone().install(),
            reduces_the_window: extensions.reduces_the_window,
            slow_start: extensions
                .slow_start_exit
                .map(|kind| Box::new(slow_start::SlowStart::new(kind))),
            empty_window_probes: extensions.empty_window_probes,
            notsent_low_water: u64::MAX,
            ecn: ecn::Ecn::default(),
            device_full: false,
            idle_restart: config.idle_restart,
            rtt: RttEstimator::new(config.rto),
            recovery: Recovery::default(),
            resend: Resend::default(),
            selective: None,
            timers: timers::Timers::new(extensions.user_timeout),
            hold: None,
            wl1: Offset::SYN,
            wl2: Offset::SYN,
            last_sent: Instant::ZERO,
            last_acked: Instant::ZERO,
            last_heard: Instant::ZERO,
            pace: None,
            pacer: extensions.pacing.then(Box::default),
            finishing: false,
            pushes: extensions
                .push_ends_writes
                .map(|burst| push::Pushes::new(burst, extensions.send_buffer_is_memory)),
            counters: Counters::default(),
        };
        sender.bound_initial_cwnd();
        sender
    }

    /// RFC 6928, section 2: "min (10*MSS, max (2*MSS, 14600))".
    fn bound_initial_cwnd(&mut self) {
        let bound = (2 * u64::from(self.vars.mss)).max(LARGEST_INITIAL_CWND);
        if self.bounds_initial_cwnd && self.initial_cwnd > bound {
            self.initial_cwnd = bound;
            self.vars.cwnd = bound;
        }
    }

    /// Both SYNs permitted SACK, or not.
    pub(crate) fn permit_sack(&mut self, permitted: bool, extensions: &Extensions) {
        self.selective = permitted.then(|| Box::new(Selective::new(extensions)));
    }

    /// The time, for what leaves without a pass.
    pub(crate) fn clock_is(&mut self, now: Instant) {
        self.vars.now = self.vars.now.max(now);
    }

    /// Every segment carries options of so many octets, which its data must leave room for
    /// (RFC 6691, section 2).
    pub(crate) fn set_option_octets(&mut self, octets: u32) {
        self.option_octets = octets;
        self.set_mss(self.own_mss);
    }

    /// The largest segment, options and data; the initial window is one of so many segments.
    fn set_mss(&mut self, with_options: u32) {
        let mss = with_options.saturating_sub(self.option_octets).max(1);
        if self.vars.max <= Offset::FIRST && self.rtt.unanswered() == 0 {
            let segments = self.own_initial_cwnd / u64::from(self.own_mss.max(1));
            if mss < self.own_mss {
                self.initial_cwnd = segments.max(1) * u64::from(mss);
                self.vars.cwnd = self.initial_cwnd;
            }
        }
        self.vars.mss = mss;
        if self.vars.max <= Offset::FIRST && self.rtt.unanswered() == 0 {
            self.bound_initial_cwnd();
        }
    }

    /// Goes straight to an established connection whose peer offers `window` octets.
    pub(crate) fn establish(&mut self, window: u64) {
        self.vars.una = Offset::FIRST;
        self.vars.nxt = Offset::FIRST;
        self.vars.max = Offset::FIRST;
        self.vars.wnd = window;
        self.vars.max_wnd = window;
    }

    /// Returns the variables, as a policy sees them.
    #[must_use]
    #[inline]
    pub fn vars(&self) -> &Vars {
        &self.vars
    }

    /// Returns what was counted.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns what is being kept back, if anything is.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    /// Returns the round-trip time estimator.
    #[must_use]
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Octets in the send buffer, the FIN not counted.
    #[must_use]
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.vars.buffered()
    }

    /// Returns the size of the send buffer, in octets.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.vars.capacity
    }

    /// Free space in the send buffer, in octets. Where it bounds memory
    /// (`Extensions::send_buffer_is_memory`), what the next piece of a write may have, which may be more
    /// than the buffer's size.
    #[must_use]
    #[inline]
    pub fn space(&self) -> u64 {
        match self.room_by_memory() {
            None if self.unsent() >= self.notsent_low_water => 0,
            None => self.vars.capacity.saturating_sub(self.buffered()),
            Some(room) => room,
        }
    }

    /// Octets that were written and have not left.
    #[inline]
    pub(super) fn unsent(&self) -> u64 {
        self.vars.written.since(self.vars.nxt)
    }

    /// Returns what is in the send buffer and its size, as a copy rule is to see them: their difference is what
    /// the next piece of a write may have.
    #[inline]
    pub(crate) fn fill(&self) -> (u64, u64) {
        match self.room_by_memory() {
            None if self.unsent() >= self.notsent_low_water => (0, 0),
            None => (self.buffered(), self.vars.capacity),
            Some(room) => (0, room),
        }
    }

    /// Returns what is free, for whoever sleeps until there is enough; of memory, where that is bounded.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        // Linux: half of it is to have left (`__tcp_stream_memory_free`).
        if self.unsent() >= self.notsent_low_water.div_ceil(2) {
            return 0;
        }
        let taken = self.memory().unwrap_or_else(|| self.buffered());
        self.vars.capacity.saturating_sub(taken)
    }

    /// Returns how many octets at most a write may bring in before anything else happens; where memory is
    /// bounded, a buffer that was begun is filled up, also again after a part of it has left.
    #[must_use]
    pub fn most_of_a_write(&self) -> u64 {
        match self.room_by_memory() {
            Some(room @ 1..) => self.free() + room + self.vars.cwnd,
            _ => self.space(),
        }
    }

    /// Returns whether nothing may be written any more.
    #[must_use]
    #[inline]
    pub fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// Where a segment without data stands: behind all that was sent; but not behind what only
    /// probed a closed window, which the peer had to leave outside (BSD: `snd_nxt` while the
    /// persist timer runs).
    #[inline]
    pub(crate) fn bare_ack_seq(&self) -> Offset {
        if self.timers.retransmitting() {
            self.vars.max
        } else {
            self.vars.nxt
        }
    }

    /// Returns whether everything, the FIN included, is acknowledged.
    #[must_use]
    #[inline]
    pub fn fin_acked(&self) -> bool {
        self.finishing && self.vars.una > self.vars.written
    }

    pub(crate) fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.timers.set_user_timeout(limit);
    }

    /// TCP_NOTSENT_LOWAT, in octets.
    pub(crate) fn set_notsent_low_water(&mut self, octets: Option<u64>) {
        self.notsent_low_water = octets.unwrap_or(u64::MAX);
    }

    /// Returns whether what leaves, and not only what is acknowledged, may wake a writer.
    #[inline]
    pub(crate) fn departures_wake(&self) -> bool {
        self.notsent_low_water != u64::MAX
    }

    pub(crate) fn set_nodelay(&mut self, on: bool) {
        self.vars.nodelay = on;
    }

    pub(crate) fn set_corked(&mut self, on: bool) {
        self.vars.corked = on;
    }

    #[inline]
    pub(crate) fn set_more_to_come(&mut self, on: bool) {
        self.vars.more_to_come = on;
    }

    pub(crate) fn set_device_busy(&mut self, busy: bool) {
        self.vars.device_busy = busy;
    }

    #[inline]
    pub(crate) fn set_reader_blocked(&mut self, blocked: bool) {
        self.vars.reader_blocked = blocked;
    }

    #[inline]
    pub(crate) fn set_writer_blocked(&mut self, blocked: bool) {
        self.vars.writer_blocked = blocked;
    }

    pub(crate) fn set_writer_lacks_space(&mut self, lacks: bool) {
        self.vars.writer_lacks_space = lacks;
    }

    pub(crate) fn set_policy(&mut self, policy: SendPolicy) {
        self.policy = policy.install();
        self.hold = None;
    }

    pub(crate) fn set_congestion(&mut self, congestion: Congestion) {
        self.congestion = congestion.install();
    }

    /// The peer's MSS option, if it sent one, bounds the segments (RFC 9293, section 3.7.1).
    pub(crate) fn learn_mss(&mut self, offered: Option<u16>) {
        let bound = offered.map_or(MSS_WITHOUT_OPTION, u32::from);
        self.set_mss(self.own_mss.min(bound.max(LEAST_MSS)));
    }

    /// The handshake came to nothing: what is written waits for another one.
    pub(crate) fn forget_peer(&mut self) {
        self.vars.una = Offset::SYN;
        self.vars.nxt = Offset::SYN;
        self.vars.max = Offset::SYN;
        self.vars.cwnd = self.initial_cwnd;
        self.vars.ssthresh = self.cwnd_cap;
        self.rtt.restart();
        self.recovery = Recovery::default();
        self.resend = Resend::default();
        self.stop_timers();
    }

    /// The peer's SYN carries its first window, never scaled (RFC 7323, section 2.2).
    pub(crate) fn learn_window(&mut self, seq: Offset, window: u64) {
        self.vars.wnd = window;
        self.vars.max_wnd = window;
        self.wl1 = seq;
        self.wl2 = self.vars.una;
    }

    /// Nothing follows what is in the buffer.
    pub(crate) fn finish(&mut self) {
        self.finishing = true;
        self.vars.more_to_come = false;
    }

    #[inline]
    pub(crate) fn observe(&mut self, moment: Moment, now: Instant) {
        self.vars.now = now;
        self.policy.observe(moment, &self.vars);
    }

    /// `octets` of the application's reach the buffer.
    /// `goes_on` says that the same write brought in what is there, and `more` announces others.
    #[inline]
    pub(crate) fn append(&mut self, octets: u64, goes_on: bool, more: bool) {
        self.note_push(octets, goes_on, more);
        self.vars.written += octets;
    }

    /// Another size of the send buffer, in octets.
    pub(crate) fn set_capacity(&mut self, octets: u64) {
        self.vars.capacity = octets;
    }

    /// Takes in an acceptable ACK with its window (RFC 9293, section 3.10.7.4, fifth check).
    /// `pure` says that the segment carried nothing else, as duplicate ACKs do.
    /// `echo_age` is how long ago the timestamp was sent that it echoes.
    #[inline(always)]
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        pure: bool,
        echo_age: Option<Duration>,
    ) -> Acked {
        self.vars.now = now;
        self.last_heard = now;
        let (seq, ack, window) = (segment.seq, segment.ack, u64::from(segment.window));
        let duplicate =
            ack == self.vars.una && pure && window == self.vars.wnd && !self.vars.idle();
        let advanced = ack > self.vars.una;
        let mut acked = Acked {
            released: 0,
            advanced,
        };
        let mut marked = false;
        if advanced {
            self.last_acked = now;
            acked.released = self.release(ack);
            let round_trip = self.measure(ack, echo_age);
            self.vars.rto = self.rtt.rto();
            let echo = self.heeds_echo(segment.flags);
            marked = echo && self.is_a_new_mark();
            if self.selective.is_none() {
                self.recover_or_grow(ack, acked.released, round_trip.or(echo_age), echo);
            }
            self.timers.progress(now, &self.vars);
            self.pace = None;
            self.policy.observe(Moment::AckArrived, &self.vars);
        } else {
            self.timers.probe_answered(now);
            if window == 0 {
                self.rtt.answered();
            }
            if duplicate && self.selective.is_none() {
                self.duplicate_ack();
            }
        }
        if self.selective.is_some() {
            self.consult_scoreboard(&Report {
                ack,
                blocks: &segment.options.sack,
                acked,
                echo_age,
                marked,
            });
        }
        self.update_window(seq, ack, window);
        acked
    }

    /// Takes the round trip, where the acknowledgment tells it.
    #[inline(always)]
    fn measure(&mut self, ack: Offset, echo_age: Option<Duration>) -> Option<Duration> {
        let now = self.vars.now;
        if self.rtt.times_every_ack()
            && let Some(selective) = &self.selective
            && let Some(left) = selective.board.first_left(ack)
        {
            return Some(self.rtt.acked_since(ack, now, left));
        }
        let max = self.vars.max;
        self.rtt
            .acked(ack, now, echo_age.map(|age| Echo { age, max }))
    }

    /// Takes what is acknowledged out of the buffer; returns the octets of data among it.
    #[inline(always)]
    fn release(&mut self, ack: Offset) -> u64 {
        // SYN and FIN are no data.
        let data_end = ack.min(self.vars.written);
        let data_start = self.vars.una.max(Offset::FIRST);
        self.vars.una = ack;
        self.vars.nxt = self.vars.nxt.max(ack);
        if let Some(hold) = self.hold
            && hold.start < ack
        {
            self.hold = None;
        }
        self.forget_pushes();
        data_end.since(data_start)
    }

    /// SND.WND follows the newest segment (SND.WL1, SND.WL2).
    #[inline]
    fn update_window(&mut self, seq: Offset, ack: Offset, window: u64) {
        let newer = self.wl1 < seq || (self.wl1 == seq && self.wl2 <= ack);
        if newer && ack >= self.vars.una {
            self.vars.wnd = window;
            self.vars.max_wnd = self.vars.max_wnd.max(window);
            self.wl1 = seq;
            self.wl2 = ack;
        }
    }

    fn window(&mut self) -> (Window<'_>, &mut congestion::Installed) {
        let window = Window {
            cwnd: &mut self.vars.cwnd,
            ssthresh: &mut self.vars.ssthresh,
            mss: u64::from(self.vars.mss),
            cap: self.cwnd_cap,
        };
        (window, &mut self.congestion)
    }

    /// Returns what a loss is to reduce, where `flight` octets are outstanding.
    fn to_reduce(&self, flight: u64) -> u64 {
        match self.reduces_the_window {
            true => self.vars.cwnd,
            false => flight,
        }
    }

    /// `octets` were delivered; the acknowledgment took `round_trip`, where that is certain.
    #[inline]
    fn grow(&mut self, octets: u64, round_trip: Option<Duration>) {
        let octets = self.mind_slow_start(octets, round_trip);
        let ack = Ack {
            octets,
            flight: self.vars.outstanding() + octets,
            now: self.vars.now,
            srtt: self.rtt.srtt(),
        };
        let (window, congestion) = self.window();
        congestion.on_ack(window, &ack);
    }
}
