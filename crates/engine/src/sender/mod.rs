//! The sending half: its variables, the output pass, and the handling of acknowledgments.
//!
//! `Sender::pass` is the paper's `tcp_output`: it looks at the buffer and the window, sends what
//! must go, and asks the policy about the rest. It is the only place from which data leaves.

mod black_hole;
mod buffer;
pub mod congestion;
mod counters;
mod device;
mod ecn;
mod loss_view;
mod pacing;
mod pass;
mod path_mtu;
mod path_search;
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
pub use loss_view::{LossState, LossView};
pub use pass::{Stamp, Syn};
pub use rtt::{Echo, RtoRules, RttEstimator};
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

/// The rules of a sender, in octets unless said otherwise.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The largest segment to send; the peer's MSS option may lower it.
    pub mss: u32,
    /// The send buffer (`so_snd.sb_hiwat`).
    pub buffer: u64,
    /// The policy that decides about runts.
    pub policy: SendPolicy,
    /// Whether MORE applies whatever the policy (Mogul & Minshall's kernel, as its results show).
    pub more_in_every_variant: bool,
    /// MCLBYTES, which some policies look at.
    pub cluster: u64,
    /// The congestion control algorithm.
    pub congestion: Congestion,
    /// What an idle period does to the congestion window.
    pub idle_restart: IdleRestart,
    /// The congestion window after the handshake.
    pub initial_cwnd: u64,
    /// The initial `ssthresh`, which is also the bound of `cwnd` (fast recovery may exceed it while
    /// it lasts, RFC 5681, section 3.2).
    pub cwnd_cap: u64,
    /// The bounds of the retransmission timeout.
    pub rto: RtoRules,
}

/// The MSS of a peer that sends no MSS option, in octets (RFC 9293, section 3.7.1, for IPv4).
const MSS_WITHOUT_OPTION: u32 = 536;

/// The least MSS that is used, in octets, even if the peer offers less: an MSS of a few octets
/// would cut every write into as many segments (CVE-2019-11479; Linux: `tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48;

/// If two segments are larger than this, in octets, the initial window is two segments (RFC 6928,
/// section 2).
const LARGEST_INITIAL_CWND: u64 = 14_600;

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The variables that policies see.
    vars: Vars,
    /// The largest segment to send before the peer's SYN has lowered it.
    own_mss: u32,
    /// The octets that options take in every segment.
    option_octets: u32,
    policy: send_policy::Installed,
    more_in_every_variant: bool,
    cwnd_cap: u64,
    /// The configured initial window; `initial_cwnd` is what the agreed MSS makes of it.
    own_initial_cwnd: u64,
    initial_cwnd: u64,
    bounds_initial_cwnd: bool,
    /// RFC 3042.
    limited_transmit: bool,
    black_hole_detection: bool,
    path_mss_expires: bool,
    /// What a router's report ended, if it may return.
    path_limit: Option<Box<path_mtu::PathLimit>>,
    /// The search for a larger path MTU.
    path_search: Option<Box<path_search::PathSearch>>,
    congestion: congestion::Installed,
    /// Whether a loss reduces the window instead of the flight.
    reduces_the_window: bool,
    /// Whether the congestion window counts segments, however short they are.
    counts_segments: bool,
    /// The rule that ends slow start.
    slow_start: Option<Box<slow_start::SlowStart>>,
    empty_window_probes: bool,
    /// A writer waits while this many octets are unsent, whatever space is free.
    notsent_low_water: u64,
    /// The size to which the send buffer may grow, in octets; 0 if it does not grow.
    buffer_most: u64,
    /// The buffer's size and `buffer_most` as they are without a bound, while there is one.
    unlimited_buffer: Option<(u64, u64)>,
    ecn: ecn::Ecn,
    /// Whether the local device refuses packets.
    device_full: bool,
    idle_restart: IdleRestart,
    rtt: RttEstimator,
    recovery: Recovery,
    /// What a pass must retransmit first.
    resend: Resend,
    /// The scoreboard and the loss recovery based on it, once both sides permitted SACK.
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
    /// The state of a paced restart: its interval, and when the next segment may leave.
    pace: Option<pass::Pace>,
    /// The state of pacing, which spreads every flight.
    pacer: Option<Box<pacing::Pacer>>,
    /// Whether nothing will follow what is in the buffer, so that a FIN is sent after it.
    finishing: bool,
    /// Where PSH is set, if not where the buffer is emptied.
    pushes: Option<Box<push::Pushes>>,
    counters: Counters,
}

/// What is being held: a runt, or any segment of a paced flight that waits for its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its first octet.
    pub start: Offset,
    /// The reason.
    pub why: Why,
    /// The time since when it is held.
    pub since: Instant,
    /// When to ask the policy again even if nothing else happens.
    pub until: Option<Instant>,
}

/// The effects of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Octets of data that left the send buffer.
    pub released: u64,
    /// Whether it acknowledged data, SYN or FIN.
    pub advanced: bool,
}

impl Sender {
    /// Returns a sender that has not sent its SYN yet.
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
            path_mss_expires: extensions.path_mss_expires,
            path_limit: None,
            path_search: extensions
                .path_mtu_search
                .map(|rule| Box::new(path_search::PathSearch::new(rule, config.mss))),
            congestion: config.congestion.clone().install(),
            reduces_the_window: extensions.reduces_the_window,
            counts_segments: extensions.window_counts_segments,
            slow_start: extensions
                .slow_start_exit
                .map(|kind| Box::new(slow_start::SlowStart::new(kind))),
            empty_window_probes: extensions.empty_window_probes,
            notsent_low_water: u64::MAX,
            buffer_most: extensions.send_buffer_most.unwrap_or(0),
            unlimited_buffer: None,
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

    /// Bounds the initial window. RFC 6928, section 2: "min (10*MSS, max (2*MSS, 14600))".
    fn bound_initial_cwnd(&mut self) {
        let bound = (2 * u64::from(self.vars.mss)).max(LARGEST_INITIAL_CWND);
        if self.bounds_initial_cwnd && self.initial_cwnd > bound {
            self.initial_cwnd = bound;
            self.vars.cwnd = bound;
        }
    }

    /// Sets whether both SYNs permitted SACK.
    pub(crate) fn permit_sack(&mut self, permitted: bool, extensions: &Extensions) {
        self.selective = permitted.then(|| Box::new(Selective::new(extensions)));
        self.count_segments();
    }

    /// Tells the scoreboard what a segment counts for.
    fn count_segments(&mut self) {
        if let Some(selective) = &mut self.selective
            && self.counts_segments
        {
            selective.board.count_at_least(self.vars.mss.into());
        }
    }

    /// Sets the time for segments that leave without a pass.
    pub(crate) fn clock_is(&mut self, now: Instant) {
        self.vars.now = self.vars.now.max(now);
    }

    /// Sets the octets of options that every segment carries, for which its data must leave room
    /// (RFC 6691, section 2).
    pub(crate) fn set_option_octets(&mut self, octets: u32) {
        self.option_octets = octets;
        self.set_mss(self.own_mss);
    }

    /// Sets the largest segment, options and data. The initial window counts segments of this size.
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
        self.count_segments();
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
        self.begin_path_search(self.own_mss);
    }

    /// Returns the variables, as a policy sees them.
    #[must_use]
    #[inline]
    pub fn vars(&self) -> &Vars {
        &self.vars
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns what is being held, if anything is.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        self.hold.as_ref()
    }

    /// Returns the round-trip time estimator.
    #[must_use]
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Returns whether nothing more may be written.
    #[must_use]
    #[inline]
    pub fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// Returns the sequence number of a segment without data: after everything that was sent,
    /// except what only probed a closed window, which the peer had to drop (BSD: `snd_nxt` while
    /// the persist timer runs).
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

    /// Says that what is in flight measures no round trip.
    pub(crate) fn distrust_round_trip(&mut self) {
        self.rtt.distrust();
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

    /// Takes in the peer's MSS option, if it sent one, which bounds the segments (RFC 9293, section
    /// 3.7.1).
    pub(crate) fn learn_mss(&mut self, offered: Option<u16>) {
        let bound = offered.map_or(MSS_WITHOUT_OPTION, u32::from);
        self.set_mss(self.own_mss.min(bound.max(LEAST_MSS)));
        if let Some(limit) = &mut self.path_limit {
            limit.bound(bound.max(LEAST_MSS));
        }
        self.begin_path_search(bound.max(LEAST_MSS));
    }

    /// Forgets the peer after a failed handshake; what was written waits for another handshake.
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

    /// Takes in the first window from the peer's SYN, which is never scaled (RFC 7323, section
    /// 2.2).
    pub(crate) fn learn_window(&mut self, seq: Offset, window: u64) {
        self.vars.wnd = window;
        self.vars.max_wnd = window;
        self.wl1 = seq;
        self.wl2 = self.vars.una;
    }

    /// Says that nothing follows what is in the buffer.
    pub(crate) fn finish(&mut self) {
        self.finishing = true;
        self.vars.more_to_come = false;
    }

    #[inline]
    pub(crate) fn observe(&mut self, moment: Moment, now: Instant) {
        self.vars.now = now;
        self.policy.observe(moment, &self.vars);
    }

    /// Handles an acceptable ACK with its window (RFC 9293, section 3.10.7.4, fifth check). `pure`
    /// says that the segment carried nothing else, as duplicate ACKs do. `echo_age` is how long ago
    /// the timestamp that it echoes was sent.
    #[inline(always)]
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        pure: bool,
        echo_age: Option<Duration>,
    ) -> Acked {
        let acked = self.take_acknowledgment(now, segment, pure, echo_age);
        self.update_window(segment.seq, segment.ack, u64::from(segment.window));
        acked
    }

    /// Handles the acknowledgment of a segment whose window does not count; see [`Sender::on_ack`].
    #[inline(always)]
    pub(crate) fn take_acknowledgment(
        &mut self,
        now: Instant,
        segment: &Segment,
        pure: bool,
        echo_age: Option<Duration>,
    ) -> Acked {
        self.vars.now = now;
        self.last_heard = now;
        let (ack, window) = (segment.ack, u64::from(segment.window));
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
        acked
    }

    /// Measures and returns the round trip, if the acknowledgment tells it.
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

    /// Removes what is acknowledged from the buffer; returns the octets of data among it.
    #[inline(always)]
    fn release(&mut self, ack: Offset) -> u64 {
        // SYN and FIN are not data.
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

    /// Updates SND.WND from the newest segment (SND.WL1, SND.WL2).
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

    /// Returns the octets that a loss reduces, with `flight` octets outstanding.
    fn to_reduce(&self, flight: u64) -> u64 {
        match self.reduces_the_window {
            true => self.vars.cwnd,
            false => flight,
        }
    }

    /// Lets the window grow by `octets` that were delivered; `round_trip` is that of the
    /// acknowledgment, if certain.
    #[inline]
    fn grow(&mut self, octets: u64, round_trip: Option<Duration>) {
        let octets = self.mind_slow_start(octets, round_trip);
        let flight = match &self.selective {
            Some(selective) if self.counts_segments => selective.board.pipe(),
            _ => self.vars.outstanding(),
        };
        let ack = Ack {
            octets,
            flight: flight + octets,
            now: self.vars.now,
            srtt: self.rtt.srtt(),
        };
        let (window, congestion) = self.window();
        congestion.on_ack(window, &ack);
    }
}
