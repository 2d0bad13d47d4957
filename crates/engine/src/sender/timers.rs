//! The sender's timers: retransmission, persist, and the bound of a hold.

use super::device::RETRY;
use super::{RttEstimator, Sender, Vars};
use crate::time::{Deadline, Duration, Instant};

/// Probes of a closed window come no faster and no slower than this (4.4BSD: 5 s and 60 s;
/// RFC 9293, section 3.8.6.1 asks for the first after a retransmission timeout).
const PERSIST_MAX: Duration = Duration::from_secs(60);

/// What the sender is to be woken for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    retransmit: Deadline,
    /// What a scoreboard wants to be woken for before the retransmission timeout.
    early: Option<Early>,
    persist: Deadline,
    persist_backoff: u32,
    /// Window probes in a row that the peer did not answer.
    unanswered_probes: u32,
    /// The time since when nothing was acknowledged although something is in flight.
    since: Instant,
    /// The longest that may last (RFC 5482).
    user_timeout: Option<Duration>,
}

/// A deadline before the retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Early {
    pub(super) at: Instant,
    pub(super) reason: TimerReason,
}

/// The timer that expires next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimerReason {
    /// Something sent was not acknowledged in time.
    Retransmit,
    /// A segment that may only be late must be judged again (RFC 8985, section 6.2).
    Reordering,
    /// The end of a flight must be probed (RFC 8985, section 7).
    TailProbe,
    /// A closed window must be probed.
    Persist,
    /// The policy must be asked again about a held runt.
    Hold,
    /// The next segment of a paced flight may leave.
    Pace,
}

/// What an expired timer demands of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing: no timer had expired.
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
    /// Returns the timers, all off.
    pub(super) fn new(user_timeout: Option<Duration>) -> Self {
        Self {
            user_timeout,
            retransmit: Deadline::OFF,
            persist: Deadline::OFF,
            persist_backoff: 0,
            unanswered_probes: 0,
            since: Instant::ZERO,
            early: None,
        }
    }

    /// Records that something left that must be acknowledged (RFC 6298, section 5.1).
    #[inline]
    pub(super) fn sent(&mut self, now: Instant, rtt: &RttEstimator) {
        self.persist = Deadline::OFF;
        self.persist_backoff = 0;
        if self.retransmit.is_off() {
            if rtt.unanswered() == 0 {
                self.since = now;
            }
            self.retransmit = self.at_most_user_timeout(now + rtt.rto());
        }
    }

    /// Records that new data was acknowledged (sections 5.2 and 5.3).
    #[inline]
    pub(super) fn progress(&mut self, now: Instant, vars: &Vars) {
        self.since = now;
        if vars.idle() {
            self.retransmit = Deadline::OFF;
            self.stop_persist();
        } else {
            self.retransmit = self.at_most_user_timeout(now + vars.rto);
        }
    }

    /// Returns whether the retransmission timer watches something in flight.
    #[inline]
    pub(super) fn retransmitting(&self) -> bool {
        !self.retransmit.is_off()
    }

    /// Starts the persist timer: data waits, nothing is in flight and nothing else will wake the
    /// sender.
    pub(super) fn start_persist(&mut self, now: Instant, rtt: &RttEstimator) {
        if self.persist.is_off() {
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
        self.persist = Deadline::OFF;
        self.persist_backoff = 0;
        self.unanswered_probes = 0;
    }

    /// Schedules the next try after `interval`, because the device refused what was to leave.
    pub(super) fn resource_probe(&mut self, now: Instant, interval: Duration) {
        if self.unanswered_probes == 0 {
            self.since = now;
        }
        self.unanswered_probes += 1;
        self.persist = self.at_most_user_timeout(now + interval);
    }

    /// Sets the timeout again after `interval`, without backoff, because the retransmission could
    /// not leave.
    fn retransmit_after(&mut self, now: Instant, interval: Duration) {
        self.retransmit = self.at_most_user_timeout(now + interval);
    }

    /// Returns whether a closed window has been probed as often as anything is retransmitted,
    /// whether or not the probes were answered.
    fn probed_enough(&self, rtt: &RttEstimator) -> bool {
        self.persist_backoff > rtt.patience()
    }

    /// Records a segment of the peer that acknowledges nothing new, as the answer to a window probe
    /// does.
    #[inline]
    pub(super) fn probe_answered(&mut self, now: Instant) {
        self.unanswered_probes = 0;
        if !self.persist.is_off() {
            self.since = now;
        }
    }

    pub(super) fn set_user_timeout(&mut self, limit: Option<Duration>) {
        self.user_timeout = limit;
    }

    #[inline]
    fn at_most_user_timeout(&self, at: Instant) -> Deadline {
        Deadline::at(match self.user_timeout {
            None => at,
            Some(limit) => at.min(self.since + limit),
        })
    }

    /// Returns whether the peer has been silent for longer than the user timeout.
    fn user_timeout_over(&self, now: Instant) -> bool {
        self.user_timeout
            .is_some_and(|limit| now.since(self.since) >= limit)
    }

    /// Sets what to be woken for before the retransmission timeout.
    pub(super) fn set_early(&mut self, early: Option<Early>) {
        self.early = early;
    }

    /// Returns the time of a probe: no later than the timeout, which it then replaces (RFC 8985,
    /// section 7.2, TLP_calc_PTO).
    pub(super) fn before_retransmission(&self, at: Instant) -> Instant {
        self.retransmit.get().map_or(at, |timeout| at.min(timeout))
    }

    /// Lets the timeout count from now (RFC 8985, section 7.3: after a tail loss probe).
    pub(super) fn restart_retransmission(&mut self, now: Instant, rtt: &RttEstimator) {
        self.retransmit = self.at_most_user_timeout(now + rtt.rto());
    }
}

impl Sender {
    /// Returns the earliest deadline.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Deadline {
        let mut first = self.timers.retransmit.min(self.timers.persist);
        // Most senders have none of these, and a branch costs less than taking a minimum.
        if let Some(early) = &self.timers.early {
            first = first.min(Deadline::at(early.at));
        }
        if let Some(hold) = &self.hold
            && let Some(until) = hold.until
        {
            first = first.min(Deadline::at(until));
        }
        if let Some(pace) = &self.pace
            && pace.waiting
        {
            first = first.min(Deadline::at(pace.next));
        }
        if let Some(next) = self.pacer_deadline() {
            first = first.min(Deadline::at(next));
        }
        first
    }

    /// Returns the earliest deadline and its purpose.
    #[inline]
    pub(crate) fn next_timer(&self) -> (Deadline, TimerReason) {
        let mut first = (self.timers.retransmit, TimerReason::Retransmit);
        // Also if both are at the same time: a probe is better than a timeout (RFC 8985, section
        // 7.2).
        if let Some(early) = self.timers.early
            && Deadline::at(early.at) <= first.0
        {
            first = (Deadline::at(early.at), early.reason);
        }
        if self.timers.persist < first.0 {
            first = (self.timers.persist, TimerReason::Persist);
        }
        if let Some(until) = self.hold.and_then(|hold| hold.until)
            && Deadline::at(until) < first.0
        {
            first = (Deadline::at(until), TimerReason::Hold);
        }
        if let Some(pace) = self.pace
            && pace.waiting
            && Deadline::at(pace.next) < first.0
        {
            first = (Deadline::at(pace.next), TimerReason::Pace);
        }
        if let Some(next) = self.pacer_deadline()
            && Deadline::at(next) < first.0
        {
            first = (Deadline::at(next), TimerReason::Pace);
        }
        first
    }

    /// Returns how long sent data may stay unacknowledged.
    pub(crate) fn user_timeout(&self) -> Option<Duration> {
        self.timers.user_timeout
    }

    /// Returns the window probes in a row that were not answered.
    #[must_use]
    pub fn unanswered_probes(&self) -> u32 {
        self.timers.unanswered_probes
    }

    /// Returns whether a window that stays closed has been probed often enough for a connection
    /// that no application owns any more.
    pub(crate) fn probed_enough(&self) -> bool {
        self.timers.probed_enough(&self.rtt)
    }

    /// Handles the passing of time.
    pub(crate) fn on_wakeup(&mut self, now: Instant) -> Expired {
        self.vars.now = now;
        let (deadline, reason) = self.next_timer();
        if !deadline.is_due(now) {
            return Expired::Nothing;
        }
        match reason {
            TimerReason::Hold => {
                // Asked again only once; if the window has closed meanwhile, an ACK causes the next
                // question.
                if let Some(hold) = &mut self.hold {
                    hold.until = None;
                }
                self.push_what_is_written();
                Expired::Pass
            }
            TimerReason::Pace => {
                // The pass finds out whether anything waits.
                if let Some(pace) = &mut self.pace {
                    pace.waiting = false;
                }
                self.stop_waiting_for_the_pacer();
                Expired::Pass
            }
            TimerReason::Reordering => {
                self.timers.early = None;
                self.look_for_losses_by_time();
                Expired::Pass
            }
            TimerReason::TailProbe => {
                self.timers.early = None;
                match self.device_full {
                    true => Expired::Nothing,
                    false => Expired::TailProbe,
                }
            }
            // RFC 9293, section 3.8.6.1: a peer that answers may keep its window closed forever;
            // one that does not answer is gone.
            TimerReason::Persist
                if self.timers.unanswered_probes >= self.rtt.patience()
                    || self.timers.unanswered_probes > 0 && self.timers.user_timeout_over(now) =>
            {
                Expired::GiveUp
            }
            TimerReason::Persist if self.device_full => {
                self.try_the_device_later(now);
                Expired::Nothing
            }
            TimerReason::Persist => {
                self.timers.unanswered_probes += 1;
                self.timers.persist = Deadline::OFF;
                self.timers.persist_backoff += 1;
                Expired::Probe
            }
            TimerReason::Retransmit
                if self.rtt.exhausted() || self.timers.user_timeout_over(now) =>
            {
                Expired::GiveUp
            }
            TimerReason::Retransmit if self.device_full => {
                self.timers.retransmit_after(now, RETRY);
                Expired::Nothing
            }
            TimerReason::Retransmit => {
                self.timers.retransmit = Deadline::OFF;
                self.go_back();
                Expired::Pass
            }
        }
    }

    /// Turns every timer off, because the connection is gone.
    pub(crate) fn stop_timers(&mut self) {
        self.timers = Timers {
            unanswered_probes: self.timers.unanswered_probes,
            ..Timers::new(self.timers.user_timeout)
        };
        self.hold = None;
        self.pace = None;
        self.stop_waiting_for_the_pacer();
    }
}
