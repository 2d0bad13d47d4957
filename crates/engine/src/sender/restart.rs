//! The first burst after an idle period: when the rule applies, and the flight that it spreads over
//! a round trip. The rules are in [`super::congestion::restart`].

use super::congestion::restart::{Idle, IdleRestart, Restarted};
use super::context::Context;
use crate::time::{Duration, Instant};

/// What an idle period is measured by, and what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Restart {
    rule: IdleRestart,
    /// When a segment last left; means nothing before the first one.
    last_sent: Instant,
    /// When something was last acknowledged.
    last_acked: Instant,
    /// When a segment last arrived.
    last_heard: Instant,
    /// The flight that is being spread.
    pace: Option<Pace>,
}

/// The windows that the rule starts from, in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    pub(super) initial: u64,
}

/// A flight that is being spread over a round trip.
#[derive(Clone, Copy, Debug)]
struct Pace {
    interval: Duration,
    /// When the next segment may leave.
    next: Instant,
    /// Whether a segment is ready and waits for `next`.
    waiting: bool,
}

impl Restart {
    pub(super) fn new(rule: IdleRestart) -> Self {
        Self {
            rule,
            last_sent: Instant::ZERO,
            last_acked: Instant::ZERO,
            last_heard: Instant::ZERO,
            pace: None,
        }
    }

    /// Returns whether an idle period changes anything.
    #[inline]
    pub(super) fn has_a_rule(&self) -> bool {
        self.rule != IdleRestart::None
    }

    /// Records that a segment left.
    #[inline]
    pub(super) fn sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    /// Records that a segment arrived.
    #[inline]
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
    }

    /// Records that something was acknowledged, which ends a paced flight.
    #[inline]
    pub(super) fn acked(&mut self, now: Instant) {
        self.last_acked = now;
        self.pace = None;
    }

    /// Ends a paced flight.
    pub(super) fn end_paced_flight(&mut self) {
        self.pace = None;
    }

    /// Returns what the rule decides by.
    pub(super) fn idle(&self, window: &Windows, context: &Context<'_>) -> Idle {
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
    pub(super) fn apply(&mut self, idle: &Idle) -> Option<Restarted> {
        if self.pace.is_some() {
            return None;
        }
        let restarted = self.rule.apply(idle)?;
        if restarted.pace > Duration::ZERO {
            self.pace = Some(Pace {
                interval: restarted.pace,
                next: idle.now,
                waiting: false,
            });
        }
        Some(restarted)
    }

    /// Returns whether a paced flight lets a segment leave now; if so, the next one must wait.
    #[inline]
    pub(super) fn lets_leave(&mut self, now: Instant) -> bool {
        let Some(pace) = &mut self.pace else {
            return true;
        };
        pace.waiting = pace.next > now;
        if !pace.waiting {
            pace.next = now + pace.interval;
        }
        !pace.waiting
    }

    /// Returns when the segment that waits may leave.
    #[inline]
    pub(super) fn waits_until(&self) -> Option<Instant> {
        match &self.pace {
            Some(pace) if pace.waiting => Some(pace.next),
            _ => None,
        }
    }

    /// Clears the waiting mark; the next pass finds out whether anything waits.
    pub(super) fn stop_waiting(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.waiting = false;
        }
    }
}
