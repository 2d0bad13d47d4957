//! What a sender does with its old `cwnd` after an idle period (Heidemann, section 2.4).

use crate::time::{Duration, Instant};

/// The rule for the first burst after an idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// The old window stays: the burst may fill it at once (BSD before 1990, Tru64 here).
    None,
    /// After one retransmission timeout, back to the initial window (RFC 5681, section 4.1).
    Reset,
    /// Back to one segment and to slow start (4.4BSD's `tcp_output`).
    OneSegment(IdleAfter),
    /// The window is halved for every retransmission timeout that passed; the slow start threshold
    /// becomes three quarters of the old window (RFC 2861).
    Decay,
    /// The old window stays, but its first flight is spread over a round trip (Visweswaraiah &
    /// Heidemann, rate-based pacing).
    Paced,
}

impl IdleRestart {
    /// Every rule.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Reset,
        Self::OneSegment(IdleAfter::TimeOut),
        Self::OneSegment(IdleAfter::RoundTrip),
        Self::OneSegment(IdleAfter::Silence),
        Self::Decay,
        Self::Paced,
    ];
}

/// When a connection whose data is all acknowledged counts as idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleAfter {
    /// Nothing was sent for a retransmission timeout.
    TimeOut,
    /// Nothing was sent or acknowledged for a round trip, as Heidemann reads Stevens (TCP/IP
    /// Illustrated, volume 2, section 26.2).
    RoundTrip,
    /// Nothing was *received* for a retransmission timeout, as 4.4BSD counts. A request ends the
    /// idle period, so a server never finds itself idle (RFC 5681, section 4.1).
    Silence,
}

/// The result of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarted {
    /// The window to continue with, in octets.
    pub cwnd: u64,
    /// The slow start threshold to continue with, in octets.
    pub ssthresh: u64,
    /// The time between two segments of the first flight; zero if they may leave at once.
    pub pace: Duration,
}

/// The state of the sender when it became busy again.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// When the last segment was sent.
    pub last_sent: Instant,
    /// When something was last acknowledged.
    pub last_acked: Instant,
    /// When a segment last arrived.
    pub last_heard: Instant,
    /// The present time.
    pub now: Instant,
    /// The retransmission timeout.
    pub rto: Duration,
    /// The smoothed round-trip time, if there is one yet.
    pub srtt: Option<Duration>,
    /// The window before, in octets.
    pub cwnd: u64,
    /// The slow start threshold before, in octets.
    pub ssthresh: u64,
    /// The window that the peer advertises, in octets.
    pub offered: u64,
    /// The initial window, in octets.
    pub initial: u64,
    /// The maximum segment size, in octets.
    pub mss: u64,
}

impl IdleRestart {
    /// Returns what to do, or `None` if the idle period was too short for the rule to apply.
    #[must_use]
    pub fn apply(self, idle: &Idle) -> Option<Restarted> {
        if self == Self::None || !self.is_idle(idle) {
            return None;
        }
        let slept = idle.now.since(idle.last_sent);
        Some(match self {
            Self::None => unreachable!("left above"),
            Self::Reset => Restarted {
                cwnd: idle.cwnd.min(idle.initial),
                ssthresh: idle.ssthresh,
                pace: Duration::ZERO,
            },
            Self::OneSegment(_) => Restarted {
                cwnd: idle.cwnd.min(idle.mss),
                ssthresh: idle.ssthresh,
                pace: Duration::ZERO,
            },
            Self::Decay => {
                let halvings = (slept.as_nanos() / idle.rto.as_nanos().max(1)).min(63);
                let cwnd = (idle.cwnd >> halvings).max(idle.initial.min(idle.cwnd));
                Restarted {
                    cwnd,
                    ssthresh: idle.ssthresh.max(idle.cwnd / 4 * 3),
                    pace: Duration::ZERO,
                }
            }
            Self::Paced => {
                // What left in a round trip: at most the peer's window, whatever `cwnd` was.
                let flight = idle.cwnd.min(idle.offered);
                let segments = (flight / idle.mss.max(1)).max(1);
                let round_trip = idle.srtt.unwrap_or(Duration::ZERO).as_nanos();
                Restarted {
                    cwnd: idle.cwnd,
                    ssthresh: idle.ssthresh,
                    pace: Duration::from_nanos(round_trip / segments),
                }
            }
        })
    }

    fn is_idle(self, idle: &Idle) -> bool {
        let after = match self {
            Self::OneSegment(after) => after,
            _ => IdleAfter::TimeOut,
        };
        let (since, long_enough) = match after {
            IdleAfter::TimeOut => (idle.last_sent, idle.rto),
            IdleAfter::RoundTrip => {
                let since = idle.last_sent.max(idle.last_acked);
                (since, idle.srtt.unwrap_or(idle.rto))
            }
            IdleAfter::Silence => (idle.last_heard, idle.rto),
        };
        idle.now.since(since) >= long_enough
    }
}
