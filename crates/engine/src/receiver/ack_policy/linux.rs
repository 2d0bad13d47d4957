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

/// Linux's receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux {
    /// Quick ACKs that are left; set when data first arrives.
    quick: u32,
    started: bool,
    /// Whether the connection is interactive: data was answered with data.
    pingpong: bool,
    ato: Duration,
    last_arrival: Option<Instant>,
    unacknowledged: u64,
    peer: PeerMss,
    pushed: Pushed,
    /// Whether the program sets TCP_QUICKACK before each read.
    quickack: bool,
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
        self.pingpong = true;
        match self.started {
            true => self.verdict(view),
            false => AckVerdict::Now,
        }
    }

    /// An ACK that waits leaves with the read that empties the buffer, if no more seems to come:
    /// after one small segment if the connection is not interactive, after two in any case.
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        let emptied = view.unread == 0;
        let complete =
            self.pushed == Pushed::Again || (self.pushed == Pushed::Once && !self.pingpong);
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
                // An answer within the ATO makes the connection interactive (`tcp_event_data_sent`,
                // threshold 1 since 6.x).
                let answered = self
                    .last_arrival
                    .is_some_and(|at| view.now.since(at) < self.ato.max(ATO_MIN));
                self.pingpong |= with_data && answered && !self.quickack;
            }
            AckMoment::TimerFired => {
                // `tcp_delack_timer_handler`: leave the interactive mode, or be more patient.
                if self.pingpong {
                    self.pingpong = false;
                    self.ato = ATO_MIN;
                } else {
                    self.ato = self.ato.times(2).min(ATO_MAX);
                }
            }
            // `__tcp_sock_set_quickack`: the effect lasts until the next answer.
            AckMoment::QuickAck(on) => self.pingpong = !on,
        }
    }
}

impl Linux {
    /// The policy of a program that sets TCP_QUICKACK before each read.
    pub(super) const QUICKACK: Self = Self {
        quick: 0,
        started: false,
        pingpong: false,
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
    fn verdict(&self, view: &AckView) -> AckVerdict {
        let quick = self.quick > 0 && !self.pingpong;
        if (self.owes_for_two(view) && keeps_its_window(view)) || quick {
            return AckVerdict::Now;
        }
        AckVerdict::DelayUntil(view.now + self.ato.max(ATO_MIN).min(ATO_MAX))
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
            let in_window = view.capacity / (2 * u64::from(self.peer.mss(view)));
            self.quick = QUICK_ACKS.min(in_window.max(2) as u32);
            self.ato = ATO_MIN;
        } else if let Some(gap) = gap {
            let half_min = Duration::from_nanos(ATO_MIN.as_nanos() / 2);
            if gap <= half_min {
                self.ato = Duration::from_nanos(self.ato.as_nanos() / 2 + half_min.as_nanos());
            } else if gap < self.ato {
                self.ato = Duration::from_nanos(self.ato.as_nanos() / 2 + gap.as_nanos());
            }
        }
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
