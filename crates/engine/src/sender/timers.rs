//! The sender's timers: retransmission, persist, and the bound of a hold.

use super::{RttEstimator, Sender, Vars};
use crate::time::{Duration, Instant};

/// Probes of a closed window come no faster and no slower than this (4.4BSD: 5 s and 60 s;
/// RFC 9293, section 3.8.6.1 asks for the first after a retransmission time-out).
const PERSIST_MAX: Duration = Duration::from_secs(60);

/// Deadlines; `FAR_FUTURE` where a timer is off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    retransmit: Instant,
    /// What a scoreboard wants to be woken for before that.
    early: Early,
    persist: Instant,
    persist_backoff: u32,
    /// Window probes in a row that the peer did not answer.
    unanswered_probes: u32,
    /// Since when nothing was acknowledged although something is in flight.
    since: Instant,
    /// How long that may last (RFC 5482).
    user_timeout: Option<Duration>,
}

/// A deadline before the retransmission time-out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Early {
    pub(super) at: Instant,
    pub(super) reason: TimerReason,
}

impl Early {
    const OFF: Self = Self {
        at: Instant::FAR_FUTURE,
        reason: TimerReason::TailProbe,
    };
}

/// Which timer comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerReason {
    /// Something sent was not acknowledged in time.
    Retransmit,
    /// What may only be late is to be judged again (RFC 8985, section 6.2).
    Reordering,
    /// The end of a flight is to be probed for (RFC 8985, section 7).
    TailProbe,
    /// A closed window is to be probed.
    Persist,
    /// A held runt is to be asked about again.
    Hold,
    /// The next segment of a paced flight may leave.
    Pace,
}

/// What an expired timer asks of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing had expired.
    Nothing,
    /// Run a pass.
    Pass,
    /// Send a window probe.
    Probe,
    /// Send a tail loss probe.
    TailProbe,
    /// The peer did not answer: give up.
    GiveUp,
}

impl Timers {
    /// All of them off.
    pub(super) fn new(user_timeout: Option<Duration>) -> Self {
        Self {
            user_timeout,
            retransmit: Instant::FAR_FUTURE,
            persist: Instant::FAR_FUTURE,
            persist_backoff: 0,
            unanswered_probes: 0,
            since: Instant::ZERO,
            early: Early::OFF,
        }
    }

    /// Something that must be acknowledged left (RFC 6298, section 5.1).
    #[inline]
    pub(super) fn sent(&mut self, now: Instant, rtt: &RttEstimator) {
        self.persist = Instant::FAR_FUTURE;
        self.persist_backoff = 0;
        if self.retransmit == Instant::FAR_FUTURE {
            if rtt.unanswered() == 0 {
                self.since = now;
            }
            self.retransmit = self.at_most_user_timeout(now + rtt.rto());
        }
    }

    /// New data was acknowledged (sections 5.2 and 5.3).
    #[inline]
    pub(super) fn progress(&mut self, now: Instant, vars: &Vars) {
        self.since = now;
        if vars.idle() {
            self.retransmit = Instant::FAR_FUTURE;
            self.stop_persist();
        } else {
            self.retransmit = self.at_most_user_timeout(now + vars.rto);
        }
    }

    /// Whether something in flight is being watched over.
    #[inline]
    pub(super) fn retransmitting(&self) -> bool {
        self.retransmit != Instant::FAR_FUTURE
    }

    /// Data waits, nothing is in flight and nothing else will wake the sender: probe.
    pub(super) fn start_persist(&mut self, now: Instant, rtt: &RttEstimator) {
        if self.persist == Instant::FAR_FUTURE {
            let interval = rtt
                .rto()
                .times(1 << self.persist_backoff.min(6))
                .min(PERSIST_MAX);
            if self.unanswered_probes == 0 {
                self.since = now;
            }
            self.persist = self.at_most_user_timeout(now + interval);
        }
    }

    pub(super) fn stop_persist(&mut self) {
        self.persist = Instant::FAR_FUTURE;
        self.persist_backoff = 0;
        self.unanswered_probes = 0;
    }

    /// Whether a closed window has been probed as often as anything is retransmitted, answered or not.
    fn probed_enough(&self, rtt: &RttEstimator) -> bool {
        self.persist_backoff > rtt.patience()
    }

    /// The peer said something that acknowledges nothing new, as the answer to a window probe is.
    #[inline]
    pub(super) fn probe_answered(&mut self, now: Instant) {
        self.unanswered_probes = 0;
        if self.persist != Instant::FAR_FUTURE {
            self.since = now;
        }
    }

    pub(super) fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.user_timeout = limit;
    }

    #[inline]
    fn at_most_user_timeout(&self, at: Instant) -> Instant {
        match self.user_timeout {
            None => at,
            Some(limit) => at.min(self.since + limit),
        }
    }

    /// Whether the peer has been silent for longer than the user will have it.
    fn user_timeout_over(&self, now: Instant) -> bool {
        self.user_timeout
            .is_some_and(|limit| now.since(self.since) >= limit)
    }

    /// What to be woken for before the retransmission time-out.
    pub(super) fn set_early(&mut self, early: Option<Early>) {
        self.early = early.unwrap_or(Early::OFF);
    }

    /// A probe comes no later than the time-out, and instead of it then (RFC 8985, section 7.2,
    /// TLP_calc_PTO).
    pub(super) fn before_retransmission(&self, at: Instant) -> Instant {
        at.min(self.retransmit)
    }

    /// The time-out counts from now (RFC 8985, section 7.3: after a tail loss probe).
    pub(super) fn restart_retransmission(&mut self, now: Instant, rtt: &RttEstimator) {
        self.retransmit = self.at_most_user_timeout(now + rtt.rto());
    }
}

impl Sender {
    /// The earliest deadline.
    #[must_use]
    #[inline]
    pub fn next_deadline(&self) -> Instant {
        let hold = self
            .hold
            .and_then(|hold| hold.until)
            .unwrap_or(Instant::FAR_FUTURE);
        let pace = self
            .pace
            .filter(|pace| pace.waiting)
            .map_or(Instant::FAR_FUTURE, |pace| pace.next);
        self.timers
            .retransmit
            .min(self.timers.early.at)
            .min(self.timers.persist)
            .min(hold)
            .min(pace)
    }

    /// The earliest deadline and what it is for.
    #[must_use]
    #[inline]
    pub fn next_timer(&self) -> (Instant, TimerReason) {
        let mut first = (self.timers.retransmit, TimerReason::Retransmit);
        // At the same time, too: a probe is better than a time-out (RFC 8985, section 7.2).
        if self.timers.early.at <= first.0 && self.timers.early.at != Instant::FAR_FUTURE {
            first = (self.timers.early.at, self.timers.early.reason);
        }
        if self.timers.persist < first.0 {
            first = (self.timers.persist, TimerReason::Persist);
        }
        if let Some(until) = self.hold.and_then(|hold| hold.until)
            && until < first.0
        {
            first = (until, TimerReason::Hold);
        }
        if let Some(pace) = self.pace
            && pace.waiting
            && pace.next < first.0
        {
            first = (pace.next, TimerReason::Pace);
        }
        first
    }

    /// Window probes in a row that were not answered.
    #[must_use]
    pub fn unanswered_probes(&self) -> u32 {
        self.timers.unanswered_probes
    }

    /// Whether a window that stays closed has been probed often enough for a connection that nobody
    /// owns any more.
    pub(crate) fn probed_enough(&self) -> bool {
        self.timers.probed_enough(&self.rtt)
    }

    /// Time has passed.
    pub(crate) fn on_wakeup(&mut self, now: Instant) -> Expired {
        self.vars.now = now;
        let (deadline, reason) = self.next_timer();
        if deadline > now {
            return Expired::Nothing;
        }
        match reason {
            TimerReason::Hold => {
                // Asked again once; if the window has closed meanwhile, an ACK asks next.
                if let Some(hold) = &mut self.hold {
                    hold.until = None;
                }
                self.push_what_is_written();
                Expired::Pass
            }
            TimerReason::Pace => {
                // The pass finds out anew whether anything waits its turn.
                if let Some(pace) = &mut self.pace {
                    pace.waiting = false;
                }
                Expired::Pass
            }
            TimerReason::Reordering => {
                self.timers.early = Early::OFF;
                self.look_for_losses_by_time();
                Expired::Pass
            }
            TimerReason::TailProbe => {
                self.timers.early = Early::OFF;
                Expired::TailProbe
            }
            // RFC 9293, section 3.8.6.1: a peer that answers may keep its window closed for ever;
            // one that does not is gone.
            TimerReason::Persist
                if self.timers.unanswered_probes >= self.rtt.patience()
                    || self.timers.unanswered_probes > 0 && self.timers.user_timeout_over(now) =>
            {
                Expired::GiveUp
            }
            TimerReason::Persist => {
                self.timers.unanswered_probes += 1;
                self.timers.persist = Instant::FAR_FUTURE;
                self.timers.persist_backoff += 1;
                Expired::Probe
            }
            TimerReason::Retransmit
                if self.rtt.exhausted() || self.timers.user_timeout_over(now) =>
            {
                Expired::GiveUp
            }
            TimerReason::Retransmit => {
                self.timers.retransmit = Instant::FAR_FUTURE;
                self.go_back();
                Expired::Pass
            }
        }
    }

    /// Turns every timer off: the connection is gone.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = Timers::new(self.timers.user_timeout);
        self.hold = None;
        self.pace = None;
    }
}
