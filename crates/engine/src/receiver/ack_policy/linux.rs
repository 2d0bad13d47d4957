//! LINUX: quick ACKs at first, then delayed ones while the connection is interactive
//! (net/ipv4/tcp_input.c: `tcp_event_data_recv`, `tcp_measure_rcv_mss`, `__tcp_ack_snd_check`;
//! tcp.c: `__tcp_cleanup_rbuf`; tcp_output.c: `tcp_event_ack_sent`; tcp_timer.c).

use super::{AckMoment, AckVerdict, AckView, Arrival, Rule, reopening};
use crate::time::{Duration, Instant};

/// `TCP_MAX_QUICKACKS`.
const QUICK_ACKS: u32 = 16;
/// `TCP_ATO_MIN`, and the delay in an interactive connection.
const ATO_MIN: Duration = Duration::from_millis(40);
/// `TCP_DELACK_MAX`.
const ATO_MAX: Duration = Duration::from_millis(200);
/// `TCP_RTO_MIN`.
const RTO_MIN: Duration = Duration::from_millis(200);

/// Linux's receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux {
    knobs: LinuxKnobs,
    /// Quick ACKs that are left; set when data first arrives.
    quick: u32,
    started: bool,
    /// How often data was answered with data: the connection is interactive from
    /// [`LinuxKnobs::pingpong_threshold`] on.
    pingpong: u8,
    /// When the ACK that waits is due.
    due: Option<Instant>,
    ato: Duration,
    last_arrival: Option<Instant>,
    unacknowledged: u64,
    peer: PeerMss,
    pushed: Pushed,
    /// Whether the program sets TCP_QUICKACK before each read.
    quickack: bool,
}

/// What an administrator may choose of it, and the clock of its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxKnobs {
    /// The longest delay: `TCP_DELACK_MAX_US`, `TCP_BPF_DELACK_MAX`; 200 ms as shipped.
    pub delack_max: Duration,
    /// How many answers make a connection interactive: `net.ipv4.tcp_pingpong_thresh`; 1 as shipped.
    pub pingpong_threshold: u8,
    /// The clock of the kernel's timers; without it a timer expires at the nanosecond.
    pub clock: Option<Jiffies>,
}

/// A clock that counts ticks. A timer that is set between two ticks is counted from the one before and expires one tick
/// later than that says (`calc_index` in kernel/time/timer.c), so a delay of 40 ms takes 40 to 44 ms at 250 Hz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jiffies {
    /// The time between two ticks.
    pub tick: Duration,
    /// When the first tick after the epoch is.
    pub phase: Duration,
    /// The smoothed round-trip time, which bounds a delay above 40 ms (`tcp_send_delayed_ack`).
    pub round_trip: Duration,
}

impl Default for LinuxKnobs {
    fn default() -> Self {
        Self {
            delack_max: ATO_MAX,
            pingpong_threshold: 1,
            clock: None,
        }
    }
}

impl Jiffies {
    /// Returns when a timer expires that is set now for `delay`.
    fn expiry(&self, now: Instant, delay: Duration) -> Instant {
        let tick = self.tick.as_nanos().max(1);
        let phase = self.phase.as_nanos() % tick;
        let since_tick = (now.as_nanos() + tick - phase) % tick;
        let ticks = delay.as_nanos() / tick + 1;
        Instant::from_nanos((now.as_nanos() + ticks * tick).saturating_sub(since_tick))
    }

    /// Returns the retransmission timeout that goes with the round-trip time.
    fn rto(&self) -> Duration {
        RTO_MIN + self.round_trip
    }
}

/// Returns whether an ACK now would offer no less than the last one did (`__tcp_select_window(sk)
/// >= tp->rcv_wnd`). It would offer less while data lies unread; then the read sends the ACK.
fn keeps_its_window(view: &AckView) -> bool {
    let could_offer = view.could_advertise.since(view.nxt);
    could_offer >= view.advertised.since(view.acked)
}

/// Whether the segments that wait for an ACK look like the end of what the peer sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pushed {
    #[default]
    No,
    /// `ICSK_ACK_PUSHED`: a small segment, or a full one with PSH.
    Once,
    /// `ICSK_ACK_PUSHED2`: small segments one after the other.
    Again,
}

impl Rule for Linux {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.take_in(arrival, view);
        self.verdict(view)
    }

    /// `tcp_fin`: a peer that has nothing more to send is treated as in an interactive connection:
    /// the program may close as well, and then one segment carries both. Before any data the delay
    /// is zero.
    fn on_fin(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        if arrival.len > 0 {
            self.take_in(arrival, view);
        }
        self.unacknowledged += 1;
        self.pingpong = self.knobs.pingpong_threshold;
        match self.started {
            true => self.verdict(view),
            false => AckVerdict::Now,
        }
    }

    /// Lets an ACK that waits leave with the read that empties the buffer, if no more seems to come:
    /// after one small segment if the connection is not interactive, after two in any case.
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        let emptied = view.unread == 0;
        let complete =
            self.pushed == Pushed::Again || (self.pushed == Pushed::Once && !self.is_interactive());
        if self.quickack && self.unacknowledged > 0 {
            // The program sets it before the next read, which follows at once
            // (`__tcp_sock_set_quickack`).
            return AckVerdict::Now;
        }
        if self.unacknowledged > 0 && (self.owes_for_two(view) || (emptied && complete)) {
            return AckVerdict::Now;
        }
        reopening(view)
    }

    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        match moment {
            AckMoment::AckSent { with_data } => {
                self.count_down();
                self.unacknowledged = 0;
                self.pushed = Pushed::No;
                self.due = None;
                // An answer within the ATO makes the connection interactive (`tcp_event_data_sent`,
                // threshold 1 since 6.x).
                let answered = self
                    .last_arrival
                    .is_some_and(|at| view.now.since(at) < self.ato.max(ATO_MIN));
                if with_data && answered && !self.quickack {
                    self.pingpong = self.pingpong.saturating_add(1);
                }
            }
            AckMoment::TimerFired => {
                // `tcp_delack_timer_handler`: leave the interactive mode, or be more patient.
                self.due = None;
                if self.is_interactive() {
                    self.pingpong = 0;
                    self.ato = ATO_MIN;
                } else {
                    self.ato = self.ato.times(2).min(ATO_MAX);
                }
            }
            // `__tcp_sock_set_quickack`: the effect lasts until the next answer.
            AckMoment::QuickAck(true) => self.pingpong = 0,
            AckMoment::QuickAck(false) => self.pingpong = self.knobs.pingpong_threshold,
        }
    }
}

impl Linux {
    /// The policy of a program that sets TCP_QUICKACK before each read.
    pub(super) const QUICKACK: Self = Self {
        knobs: LinuxKnobs {
            delack_max: ATO_MAX,
            pingpong_threshold: 1,
            clock: None,
        },
        quick: 0,
        started: false,
        pingpong: 0,
        due: None,
        ato: Duration::ZERO,
        last_arrival: None,
        unacknowledged: 0,
        peer: PeerMss {
            estimate: 0,
            last_small: 0,
        },
        pushed: Pushed::No,
        quickack: true,
    };

    /// Returns the receiver of a host with these settings.
    #[must_use]
    pub fn with(knobs: LinuxKnobs) -> Self {
        Self {
            knobs,
            ..Self::default()
        }
    }

    /// `inet_csk_in_pingpong_mode`.
    fn is_interactive(&self) -> bool {
        self.pingpong >= self.knobs.pingpong_threshold
    }

    /// Learns from data that arrived.
    fn take_in(&mut self, arrival: &Arrival, view: &AckView) {
        self.unacknowledged += u64::from(arrival.len);
        self.pushed = match (self.peer.measure(arrival, view), self.pushed) {
            (Looks::Small | Looks::FullAndPushed, Pushed::No) => Pushed::Once,
            (Looks::Small, _) => Pushed::Again,
            (_, before) => before,
        };
        self.follow_arrivals(view);
    }

    /// `__tcp_ack_snd_check`.
    fn verdict(&mut self, view: &AckView) -> AckVerdict {
        let quick = self.quick > 0 && !self.is_interactive();
        if (self.owes_for_two(view) && keeps_its_window(view)) || quick {
            return AckVerdict::Now;
        }
        let delay = self.ato.max(ATO_MIN).min(ATO_MAX);
        let Some(clock) = &self.knobs.clock else {
            return AckVerdict::DelayUntil(view.now + delay.min(self.knobs.delack_max));
        };
        let delay = delay
            .min(clock.round_trip.max(ATO_MIN))
            .min(self.knobs.delack_max);
        let quarter = Duration::from_nanos(delay.as_nanos() / 4);
        // The timer is about to expire (`tcp_send_delayed_ack`).
        if self.due.is_some_and(|due| due <= view.now + quarter) {
            return AckVerdict::Now;
        }
        let expiry = clock.expiry(view.now, delay);
        let due = self.due.map_or(expiry, |due| due.min(expiry));
        self.due = Some(due);
        AckVerdict::DelayUntil(due)
    }

    /// Returns whether more than one of the peer's segments waits for an ACK.
    fn owes_for_two(&self, view: &AckView) -> bool {
        self.unacknowledged > u64::from(self.peer.mss(view))
    }

    /// `tcp_dec_quickack_mode`: any segment that acknowledges data counts.
    fn count_down(&mut self) {
        if self.quick > 0 && self.unacknowledged > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN;
            }
        }
    }

    /// `tcp_event_data_recv`: the ATO follows the gaps between arrivals.
    fn follow_arrivals(&mut self, view: &AckView) {
        let gap = self
            .last_arrival
            .replace(view.now)
            .map(|last| view.now.since(last));
        if !self.started {
            self.started = true;
            self.quick = self.quick_acks(view);
            self.ato = ATO_MIN;
        } else if let Some(gap) = gap {
            let half_min = Duration::from_nanos(ATO_MIN.as_nanos() / 2);
            if gap <= half_min {
                self.ato = Duration::from_nanos(self.ato.as_nanos() / 2 + half_min.as_nanos());
            } else if gap < self.ato {
                self.ato = Duration::from_nanos(self.ato.as_nanos() / 2 + gap.as_nanos());
            } else if self.knobs.clock.is_some_and(|clock| gap > clock.rto()) {
                // The sender seems to have failed to restart its window.
                self.quick = self.quick.max(self.quick_acks(view));
            }
        }
    }

    /// `tcp_incr_quickack`.
    fn quick_acks(&self, view: &AckView) -> u32 {
        let in_window = view.capacity / (2 * u64::from(self.peer.mss(view)));
        QUICK_ACKS.min(in_window.max(2) as u32)
    }
}

/// What a segment looks like to a receiver that does not know the peer's MSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    Full,
    /// Likely the end of a write: the peer may wait for the ACK.
    FullAndPushed,
    Small,
}

/// The receiver's guess at the peer's segment size (`icsk_ack.rcv_mss`, `last_seg_size`).
#[derive(Clone, Copy, Debug, Default)]
struct PeerMss {
    /// Octets; 0 until the first segment.
    estimate: u32,
    /// The length of the last segment, if it was a small one that could be full: two in a row of
    /// the same length count as full ones.
    last_small: u32,
}

impl PeerMss {
    /// `tcp_initialize_rcv_mss`.
    fn mss(&self, view: &AckView) -> u32 {
        match self.estimate {
            0 => view.mss.min(DEFAULT_MSS),
            estimate => estimate,
        }
    }

    /// `tcp_measure_rcv_mss`: learns from a segment and returns what it looks like.
    fn measure(&mut self, arrival: &Arrival, view: &AckView) -> Looks {
        let last_small = core::mem::take(&mut self.last_small);
        if arrival.len >= self.mss(view) {
            self.estimate = arrival.len.min(view.mss);
            return if arrival.push {
                Looks::FullAndPushed
            } else {
                Looks::Full
            };
        }
        self.estimate = self.mss(view);
        let with_header = arrival.len + HEADER;
        let could_be_full = with_header >= DEFAULT_MSS + BARE_HEADER
            || (with_header >= LEAST_MSS + BARE_HEADER && !arrival.push);
        if could_be_full {
            self.last_small = arrival.len;
            if arrival.len == last_small {
                self.estimate = arrival.len;
                return Looks::Full;
            }
        }
        Looks::Small
    }
}

/// `TCP_MSS_DEFAULT`.
const DEFAULT_MSS: u32 = 536;
/// `TCP_MIN_MSS`.
const LEAST_MSS: u32 = 88;
/// A TCP header with timestamps, as the profile has them.
const HEADER: u32 = 32;
const BARE_HEADER: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offset::Offset;

    fn at(microseconds: u64) -> Instant {
        Instant::from_nanos(microseconds * 1000)
    }

    fn view(now: Instant) -> AckView {
        AckView {
            now,
            nxt: Offset::new(1),
            acked: Offset::new(1),
            advertised: Offset::new(65_536),
            could_advertise: Offset::new(65_536),
            unread: 0,
            capacity: 65_536,
            mss: 1448,
        }
    }

    const SHORT: Arrival = Arrival {
        len: 100,
        end: Offset::new(101),
        push: true,
    };

    fn knobs() -> LinuxKnobs {
        LinuxKnobs {
            clock: Some(Jiffies {
                tick: Duration::from_millis(4),
                phase: Duration::ZERO,
                round_trip: Duration::ZERO,
            }),
            ..LinuxKnobs::default()
        }
    }

    /// Answers what arrives at `now` at once.
    fn answer(policy: &mut Linux, now: Instant) {
        policy.on_arrival(&SHORT, &view(now));
        policy.observe(AckMoment::AckSent { with_data: true }, &view(now));
    }

    /// Returns how long the ACK of a segment waits, in microseconds; 0 if it leaves at once.
    fn waits(policy: &mut Linux, now: Instant) -> u64 {
        match policy.on_arrival(&SHORT, &view(now)) {
            AckVerdict::DelayUntil(until) => until.since(now).as_nanos() / 1000,
            AckVerdict::Now => 0,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_timer_counts_from_the_last_tick_and_takes_one_more() {
        let clock = knobs().clock.expect("set above");
        for (now_us, delay_ms, takes_us) in [
            (0, 40, 44_000),
            (500, 40, 43_500),
            (3900, 40, 40_100),
            (0, 8, 12_000),
        ] {
            let expiry = clock.expiry(at(now_us), Duration::from_millis(delay_ms));
            assert_eq!(expiry.since(at(now_us)).as_nanos() / 1000, takes_us);
        }
    }

    #[test]
    fn an_interactive_receiver_waits_for_as_long_as_the_bound_lets_it() {
        for (bound_ms, takes_us) in [(200, 44_000), (8, 12_000), (12, 16_000)] {
            let mut policy = Linux::with(LinuxKnobs {
                delack_max: Duration::from_millis(bound_ms),
                ..knobs()
            });
            answer(&mut policy, at(0));
            assert_eq!(waits(&mut policy, at(4000)), takes_us, "{bound_ms}");
        }
    }

    #[test]
    fn a_connection_is_interactive_after_as_many_answers_as_the_threshold_says() {
        for threshold in [1, 3] {
            let mut policy = Linux::with(LinuxKnobs {
                pingpong_threshold: threshold,
                ..knobs()
            });
            for answers in 0..=threshold {
                assert_eq!(policy.is_interactive(), answers >= threshold);
                answer(&mut policy, at(1000 * u64::from(answers)));
            }
            // A timer that expires ends that.
            policy.observe(AckMoment::TimerFired, &view(at(50_000)));
            assert!(!policy.is_interactive());
        }
    }
}
