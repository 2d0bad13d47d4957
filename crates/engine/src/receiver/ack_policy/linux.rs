//! LINUX: quick ACKs at first, then delayed ones while the connection is interactive
//! (net/ipv4/tcp_input.c: `tcp_event_data_recv`, `__tcp_ack_snd_check`; tcp_timer.c).

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
    /// Quick ACKs that are left; filled when data first arrives.
    quick: u32,
    started: bool,
    /// Interactive: data was answered with data.
    pingpong: bool,
    ato: Duration,
    last_arrival: Option<Instant>,
    unacknowledged: u64,
}

impl Rule for Linux {
    fn on_arrival(&mut self, arrival: &Arrival, view: &AckView) -> AckVerdict {
        self.unacknowledged += u64::from(arrival.len);
        self.follow_arrivals(view);
        let full = self.unacknowledged > u64::from(view.mss);
        let quick = self.quick > 0 && !self.pingpong;
        if full || quick {
            self.quick = self.quick.saturating_sub(1);
            return AckVerdict::Now;
        }
        AckVerdict::DelayUntil(view.now + self.ato.max(ATO_MIN).min(ATO_MAX))
    }

    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        reopening(view)
    }

    fn observe(&mut self, moment: AckMoment, view: &AckView) {
        match moment {
            AckMoment::AckSent { with_data } => {
                self.unacknowledged = 0;
                // An answer within the ATO makes the connection interactive (`tcp_event_data_sent`,
                // threshold 1 since 6.x).
                let answered = self
                    .last_arrival
                    .is_some_and(|at| view.now.since(at) < self.ato.max(ATO_MIN));
                self.pingpong |= with_data && answered;
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
        }
    }
}

impl Linux {
    /// `tcp_event_data_recv`: the ATO follows the gaps between arrivals.
    fn follow_arrivals(&mut self, view: &AckView) {
        let gap = self
            .last_arrival
            .replace(view.now)
            .map(|last| view.now.since(last));
        if !self.started {
            self.started = true;
            self.quick = QUICK_ACKS.min((view.capacity / (2 * u64::from(view.mss))).max(2) as u32);
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
