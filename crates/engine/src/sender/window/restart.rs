//! The first burst after an idle period: when the rule applies, and the flight that it spreads over
//! a round trip. The rules are in [`crate::sender::congestion::restart`].

use crate::sender::congestion::restart::{Idle, IdleRestart, Restarted};
use crate::sender::context::Context;
use crate::time::{Deadline, Duration, Instant};

/// What an idle period is measured by, and what follows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restart {
    rule: IdleRestart,
    /// When a segment last left; means nothing before the first one.
    last_sent: Instant,
    /// When something was last acknowledged.
    last_acked: Instant,
    /// When a segment last arrived.
    last_heard: Instant,
    /// The flight that is being spread.
    pace: Option<Pace>,
    /// When its next segment may leave, if one is ready and waits.
    waits_until: Deadline,
}

/// The windows that the rule starts from, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    pub(crate) initial: u64,
}

/// A flight that is being spread over a round trip.
#[derive(Clone, Copy, Debug)]
struct Pace {
    interval: Duration,
    /// When the next segment may leave.
    next: Instant,
}

impl Restart {
    pub(crate) fn new(rule: IdleRestart) -> Self {
        Self {
            rule,
            last_sent: Instant::ZERO,
            last_acked: Instant::ZERO,
            last_heard: Instant::ZERO,
            pace: None,
            waits_until: Deadline::OFF,
        }
    }

    /// Returns whether an idle period changes anything.
    #[inline]
    pub(crate) fn has_a_rule(&self) -> bool {
        self.rule != IdleRestart::None
    }

    /// Records that a segment left.
    #[inline]
    pub(crate) fn sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    /// Records that a segment arrived.
    #[inline]
    pub(crate) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
    }

    /// Records that something was acknowledged, which ends a paced flight.
    #[inline]
    pub(crate) fn acked(&mut self, now: Instant) {
        self.last_acked = now;
        self.end_paced_flight();
    }

    /// Ends a paced flight.
    #[inline]
    pub(crate) fn end_paced_flight(&mut self) {
        self.pace = None;
        self.waits_until = Deadline::OFF;
    }

    /// Returns what the rule decides by.
    pub(crate) fn idle(&self, window: &Windows, context: &Context<'_>) -> Idle {
        Idle {
            last_sent: self.last_sent,
            last_acked: self.last_acked,
            last_heard: self.last_heard,
            now: context.now,
            rto: context.rtt.rto(),
            srtt: context.rtt.srtt(),
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
            offered: context.seq.wnd,
            initial: window.initial,
            mss: u64::from(context.mss),
        }
    }

    /// Applies the rule, unless a paced flight is under way. Returns what it changes.
    pub(crate) fn apply(&mut self, idle: &Idle) -> Option<Restarted> {
        if self.pace.is_some() {
            return None;
        }
        let restarted = self.rule.apply(idle)?;
        if restarted.pace > Duration::ZERO {
            self.pace = Some(Pace {
                interval: restarted.pace,
                next: idle.now,
            });
        }
        Some(restarted)
    }

    /// Returns whether a paced flight lets a segment leave now; if so, the next one must wait.
    #[inline]
    pub(crate) fn lets_leave(&mut self, now: Instant) -> bool {
        let Some(pace) = &mut self.pace else {
            return true;
        };
        if pace.next > now {
            self.waits_until = Deadline::at(pace.next);
            return false;
        }
        pace.next = now + pace.interval;
        self.waits_until = Deadline::OFF;
        true
    }

    /// Returns when the segment that waits may leave.
    #[inline]
    pub(crate) fn waits_until(&self) -> Deadline {
        self.waits_until
    }

    /// Clears the waiting mark; the next pass finds out whether anything waits.
    pub(crate) fn stop_waiting(&mut self) {
        self.waits_until = Deadline::OFF;
    }
}
