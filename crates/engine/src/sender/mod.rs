//! The sending half of a connection, in parts that own their state: the sequence variables, the send
//! buffer, the small-segment state, the congestion window, loss recovery, the path, the round trip,
//! timers and counters. A part never names [`Sender`]; the signature of each of its methods says which
//! other parts it reads (`context`) or changes. `Sender` lets them work together.
//!
//! `Sender::pass` is the paper's `tcp_output`: it looks at the buffer and the window, sends what must
//! go, and asks the policy about the rest.

/// Lends what most parts read; a macro, so that the other parts can be changed meanwhile.
macro_rules! context {
    ($sender:expr) => {
        crate::sender::context::Context {
            now: $sender.now,
            seq: &$sender.seq,
            mss: $sender.path.mss,
            rtt: &$sender.rtt,
        }
    };
}

/// Lends what a policy's variables are collected from.
macro_rules! view {
    ($sender:expr) => {
        crate::sender::view::View {
            now: &$sender.now,
            seq: &$sender.seq,
            mss: &$sender.path.mss,
            rtt: &$sender.rtt,
            buffer: &$sender.buffer,
            window: &$sender.window,
        }
    };
}

/// Lends what loss recovery changes besides its own state.
macro_rules! reach {
    ($sender:expr) => {
        crate::sender::loss::Reach {
            window: &mut $sender.window,
            path: &mut $sender.path,
            timers: &mut $sender.timers,
            resend: &mut $sender.resend,
            counters: &mut $sender.counters,
        }
    };
}

mod acknowledgment;
mod buffer;
mod config;
pub mod congestion;
mod context;
mod counters;
mod hints;
mod loss;
mod news;
mod pass;
mod path;
mod probe;
mod retransmit;
mod rtt;
pub mod send_policy;
mod sequence;
mod small_segment;
mod timers;
mod view;
mod wakeup;
mod window;

pub(crate) use buffer::PieceOfWrite;
pub use config::SenderConfig;
pub use counters::Counters;
pub use loss::{Acked, LossState, LossView};
pub use pass::{Stamp, Syn};
pub use rtt::{Echo, RtoRules, RttEstimator};
pub use small_segment::Hold;
pub use timers::{Expired, TimerReason};

use crate::extensions::{Extensions, Sack};
use crate::offset::Offset;
use crate::time::{Duration, Instant};
use buffer::SendBuffer;
use congestion::Congestion;
use loss::{Loss, Resend};
use path::Path;
use send_policy::{Moment, SendPolicy, Vars, Why};
use sequence::Sequence;
use small_segment::SmallSegment;
use timers::Timers;
use window::CongestionWindow;

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The time of the present call.
    now: Instant,
    seq: Sequence,
    buffer: SendBuffer,
    small: SmallSegment,
    window: CongestionWindow,
    loss: Loss,
    /// What loss recovery asks of the next pass.
    resend: Resend,
    path: Path,
    rtt: RttEstimator,
    timers: Timers,
    counters: Counters,
}

impl Sender {
    /// Returns a sender that has not sent its SYN yet.
    #[must_use]
    pub fn new(config: &SenderConfig, extensions: &Extensions) -> Self {
        Self {
            now: Instant::ZERO,
            seq: Sequence::new(),
            buffer: SendBuffer::new(config, extensions),
            small: SmallSegment::new(config),
            window: CongestionWindow::new(config, extensions),
            loss: Loss::new(extensions),
            resend: Resend::default(),
            path: Path::new(config, extensions),
            rtt: RttEstimator::new(config.rto),
            timers: Timers::new(
                extensions.user_timeout,
                extensions.linux.empty_window_probes,
            ),
            counters: Counters::default(),
        }
    }

    /// Sets what SACK is used for, if both SYNs permitted it.
    pub(crate) fn permit_sack(&mut self, sack: Option<&Sack>, extensions: &Extensions) {
        self.loss.permit_sack(sack, extensions);
    }

    /// Sets the time for segments that leave without a pass.
    pub(crate) fn clock_is(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Sets whether both SYNs agreed on ECN.
    pub(crate) fn permit_ecn(&mut self, permitted: bool) {
        self.window.ecn = window::Ecn::new(permitted);
    }

    /// Sets the octets of options that every segment carries, for which its data must leave room
    /// (RFC 6691, section 2).
    pub(crate) fn set_option_octets(&mut self, octets: u32) {
        self.path.option_octets = octets;
        self.set_largest_segment(self.path.own_mss());
    }

    /// Sets the largest segment, options and data. The initial window counts segments of this size.
    fn set_largest_segment(&mut self, with_options: u32) {
        self.path.set_largest(with_options);
        if self.seq.nothing_sent_yet() && self.rtt.unanswered() == 0 {
            let own_mss = self.path.own_mss();
            self.window.count_initial_in(self.path.mss, own_mss);
        }
    }

    /// Takes in the peer's MSS option, if it sent one, which bounds the segments (RFC 9293, section
    /// 3.7.1).
    pub(crate) fn learn_mss(&mut self, offered: Option<u16>) {
        let theirs = self.path.learn_theirs(offered);
        self.set_largest_segment(self.path.own_mss().min(theirs));
        self.begin_path_search(theirs);
    }

    /// Begins to search the path, if the rules say so, once it is known what the peer takes.
    fn begin_path_search(&mut self, theirs: u32) {
        if let Some(first) = self.path.begin_search(theirs) {
            self.set_largest_segment(first);
        }
    }

    /// Limits segments to `mss` octets, options included, up to `until`. Called before the
    /// handshake.
    pub(crate) fn limit_mss(&mut self, mss: u32, until: Instant) {
        if let Some(before) = self.path.limit_before_the_syn(mss, until) {
            self.window.configure_initial_for(self.path.mss, before);
        }
    }

    /// Handles the report that the path takes segments of at most `mss` octets, options included.
    /// Longer ones were lost, though not to congestion: their data is sent again, and the window
    /// stays (RFC 1191, section 6.5; Linux: `tcp_simple_retransmit`). Returns whether anything must
    /// be sent.
    pub(crate) fn learn_path_mss(&mut self, mss: u32) -> bool {
        if !self.path.learn_report(mss, self.now) || self.seq.idle() {
            return false;
        }
        match &mut self.loss {
            Loss::ByAcks(_) => {
                self.seq.nxt = self.seq.una;
                self.resend.set_wanted(false);
            }
            Loss::Scoreboard(selective) => {
                selective.path_shrank(self.path.mss, self.seq.max);
                self.resend.set_wanted(true);
            }
        }
        self.resend.force_one();
        self.rtt.distrust();
        true
    }

    /// Goes straight to an established connection whose peer offers `window` octets.
    pub(crate) fn establish(&mut self, window: u64) {
        self.seq.establish(window);
        self.begin_path_search(self.path.own_mss());
    }

    /// Takes in the first window from the peer's SYN, which is never scaled (RFC 7323, section
    /// 2.2).
    pub(crate) fn learn_window(&mut self, seq: Offset, window: u64) {
        self.seq.learn_window(seq, window);
    }

    /// Forgets the peer after a failed handshake; what was written waits for another handshake.
    pub(crate) fn forget_peer(&mut self, extensions: &Extensions) {
        self.seq.forget_peer();
        self.window.forget_peer();
        self.rtt.restart();
        self.loss = Loss::new(extensions);
        self.resend = Resend::default();
        self.stop_timers();
    }

    /// Returns the variables, as a policy sees them.
    #[must_use]
    #[inline]
    pub fn vars(&self) -> Vars {
        self.small.vars(view!(self))
    }

    /// Returns the octets in the send buffer, without the FIN.
    #[must_use]
    #[inline]
    pub fn buffered(&self) -> u64 {
        self.seq.buffered()
    }

    /// Returns the size of the send buffer, in octets.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> u64 {
        self.buffer.capacity()
    }

    /// Returns the free space in the send buffer, in octets. If the buffer bounds memory
    /// (`PushEndsWrites::buffer_overhead`), this is the size of the next piece of a write, which
    /// may exceed the buffer's size.
    #[must_use]
    #[inline]
    pub fn space(&self) -> u64 {
        self.buffer.space(&self.seq, self.path.mss)
    }

    /// Returns the fill and the size of the send buffer as a copy rule sees them; their difference
    /// is the size of the next piece of a write.
    #[inline]
    pub(crate) fn fill(&self) -> (u64, u64) {
        self.buffer.fill(&self.seq, self.path.mss)
    }

    /// Returns the free space for a writer that sleeps until there is enough; free memory if memory
    /// is bounded.
    #[inline]
    pub(crate) fn free(&self) -> u64 {
        self.buffer.free(&self.seq)
    }

    /// Returns the most octets that a write may append before anything else happens. If memory is
    /// bounded, a kernel buffer that was begun is filled up, also after a part of it has left.
    #[must_use]
    pub fn most_of_a_write(&self) -> u64 {
        let cwnd = self.window.cwnd;
        self.buffer.most_of_a_write(&self.seq, self.path.mss, cwnd)
    }

    /// Appends a piece of a write to the buffer.
    #[inline]
    pub(crate) fn append(&mut self, piece: &PieceOfWrite) {
        self.buffer.appended(piece, &self.seq, self.path.mss);
        self.seq.written += piece.octets;
    }

    /// Marks what is written, whatever was announced, because the writer gives up or sleeps.
    pub(crate) fn push_what_is_written(&mut self) {
        self.buffer.push_what_is_written(&self.seq);
    }

    /// Sets the size of the send buffer, in octets, which then no longer grows by itself.
    pub(crate) fn set_capacity(&mut self, octets: u64) {
        self.buffer.set_capacity(octets);
    }

    /// Bounds the buffer to `octets` until [`Sender::unlimit_buffer`]. What is in it stays.
    pub(crate) fn limit_buffer(&mut self, octets: u64) {
        self.buffer.limit(octets);
    }

    /// Ends the bound.
    pub(crate) fn unlimit_buffer(&mut self) {
        self.buffer.unlimit();
    }

    /// Lets the send buffer grow with the congestion window, if it may.
    #[inline]
    pub(crate) fn grow_buffer(&mut self) {
        if self.buffer.may_grow() {
            let window = self.window.cwnd.max(self.window.initial());
            self.buffer.grow_to(window, &self.seq, self.path.mss);
        }
    }

    /// Sets TCP_NOTSENT_LOWAT, in octets.
    pub(crate) fn set_notsent_low_water(&mut self, octets: Option<u64>) {
        self.buffer.set_notsent_low_water(octets);
    }

    /// Returns whether departures, and not only acknowledgments, may wake a writer.
    #[inline]
    pub(crate) fn departures_wake(&self) -> bool {
        self.buffer.departures_wake()
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns what is being held, if anything is.
    #[must_use]
    pub fn hold(&self) -> Option<Hold> {
        self.small.hold()
    }

    /// Returns the name of this reason: a rule's own one has the name that the rule gives it.
    #[must_use]
    pub fn name_of(&self, why: Why) -> &str {
        self.small.name_of(why)
    }

    /// Returns the reasons for which runts were held, with their names and how often. A rule's own ones
    /// from the last number that is [counted](Why::OWN_COUNTED) on share one count, under that one's name.
    pub fn holds(&self) -> impl Iterator<Item = (&str, u64)> {
        let own = (0..Why::OWN_COUNTED).map(Why::Own);
        let all = Why::ALL.iter().copied().chain(own);
        let counted = all.map(|why| (why, self.counters.held(why)));
        let held = counted.filter(|(_, count)| *count > 0);
        held.map(|(why, count)| (self.name_of(why), count))
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
        self.seq.finishing
    }

    /// Returns the sequence number of a segment without data: after everything that was sent,
    /// except what only probed a closed window, which the peer had to drop (BSD: `snd_nxt` while
    /// the persist timer runs).
    #[inline]
    pub(crate) fn bare_ack_seq(&self) -> Offset {
        if self.timers.retransmitting() {
            self.seq.max
        } else {
            self.seq.nxt
        }
    }

    /// Returns whether everything, the FIN included, is acknowledged.
    #[must_use]
    #[inline]
    pub fn fin_acked(&self) -> bool {
        self.seq.fin_acked()
    }

    pub(crate) fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.timers.set_user_timeout(limit);
    }

    /// Returns how long sent data may stay unacknowledged.
    pub(crate) fn user_timeout(&self) -> Option<Duration> {
        self.timers.user_timeout()
    }

    /// Returns the window probes in a row that were not answered.
    #[must_use]
    pub fn unanswered_probes(&self) -> u32 {
        self.timers.unanswered_probes()
    }

    /// Returns whether a window that stays closed has been probed often enough for a connection
    /// that no application owns any more.
    pub(crate) fn probed_enough(&self) -> bool {
        self.timers.probed_enough(&self.rtt)
    }

    /// Returns what the sender believes about its flight. Without a scoreboard only the state is
    /// known, and how many full-sized segments are outstanding.
    #[must_use]
    pub fn losses(&self) -> LossView {
        self.loss.view(&context!(self))
    }

    /// Returns whether a thread that is about to sleep may release what is held; if not, there is
    /// no pass.
    #[inline]
    pub(crate) fn heeds_blocking(&self) -> bool {
        self.small.heeds_blocking()
    }

    /// Sets whether the device refuses packets.
    pub(crate) fn set_device_full(&mut self, full: bool) {
        self.timers.set_device_full(full);
    }

    /// Says that what is in flight measures no round trip.
    pub(crate) fn distrust_round_trip(&mut self) {
        self.rtt.distrust();
    }

    pub(crate) fn set_policy(&mut self, policy: SendPolicy) {
        self.small.set_policy(policy);
    }

    pub(crate) fn set_congestion(&mut self, congestion: Congestion) {
        self.window.set_control(congestion);
    }

    /// Says that nothing follows what is in the buffer.
    pub(crate) fn finish(&mut self) {
        self.seq.finishing = true;
        self.small.hints.more_to_come = false;
    }

    #[inline]
    pub(crate) fn observe(&mut self, moment: Moment, now: Instant) {
        self.now = now;
        self.small.observe(moment, view!(self));
    }
}
