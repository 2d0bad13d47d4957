//! The sender's own timers: retransmission, persist, and what a scoreboard waits for.

use super::rtt::RttEstimator;
use crate::time::{Deadline, Duration, Instant};

/// Probes of a closed window come no faster and no slower than this (4.4BSD: 5 s and 60 s;
/// RFC 9293, section 3.8.6.1 asks for the first after a retransmission timeout).
const PERSIST_MAX: Duration = Duration::from_secs(60);

/// The time between two tries while the device refuses packets (Linux:
/// `TCP_RESOURCE_PROBE_INTERVAL`).
const RETRY: Duration = Duration::from_millis(500);

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
    /// Whether window probes carry no data.
    empty_probes: bool,
    /// Whether the local device refuses packets, so that what is due is tried again later.
    device_full: bool,
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
    pub(super) fn new(user_timeout: Option<Duration>, empty_probes: bool) -> Self {
        Self {
            user_timeout,
            empty_probes,
            device_full: false,
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
    pub(super) fn progress(&mut self, now: Instant, idle: bool, rtt: &RttEstimator) {
        self.since = now;
        if idle {
            self.retransmit = Deadline::OFF;
            self.stop_persist();
        } else {
            self.retransmit = self.at_most_user_timeout(now + rtt.rto());
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

    /// Returns whether window probes carry no data.
    pub(super) fn empty_probes(&self) -> bool {
        self.empty_probes
    }

    /// Returns whether the local device refuses packets. Segments handed to it would be lost, so
    /// nothing leaves, and the sender tries again at intervals.
    #[inline]
    pub(super) fn device_full(&self) -> bool {
        self.device_full
    }

    pub(super) fn set_device_full(&mut self, full: bool) {
        self.device_full = full;
    }

    /// Handles the expiry of the persist timer while the device refuses packets. That tells nothing
    /// about the peer, so the time until the next try does not grow.
    fn try_the_device_later(&mut self, now: Instant) {
        if self.unanswered_probes == 0 {
            self.since = now;
        }
        self.unanswered_probes += 1;
        self.persist = self.at_most_user_timeout(now + RETRY);
    }

    /// Returns the earliest of these timers.
    #[inline]
    pub(super) fn next_deadline(&self) -> Deadline {
        let first = self.retransmit.min(self.persist);
        // Most senders have no scoreboard, and a branch costs less than taking a minimum.
        match &self.early {
            Some(early) => first.min(Deadline::at(early.at)),
            None => first,
        }
    }

    /// Returns the earliest of these timers and its purpose.
    #[inline]
    pub(super) fn next_timer(&self) -> (Deadline, TimerReason) {
        let mut first = (self.retransmit, TimerReason::Retransmit);
        // Also if both are at the same time: a probe is better than a timeout (RFC 8985, section
        // 7.2).
        if let Some(early) = self.early
            && Deadline::at(early.at) <= first.0
        {
            first = (Deadline::at(early.at), early.reason);
        }
        if self.persist < first.0 {
            first = (self.persist, TimerReason::Persist);
        }
        first
    }

    /// Returns how long sent data may stay unacknowledged.
    pub(super) fn user_timeout(&self) -> Option<Duration> {
        self.user_timeout
    }

    /// Returns the window probes in a row that were not answered.
    pub(super) fn unanswered_probes(&self) -> u32 {
        self.unanswered_probes
    }

    /// Handles the expiry of the persist timer. RFC 9293, section 3.8.6.1: a peer that answers may
    /// keep its window closed forever; one that does not answer is gone.
    pub(super) fn on_persist(&mut self, now: Instant, rtt: &RttEstimator) -> Expired {
        let silent = self.unanswered_probes > 0 && self.user_timeout_over(now);
        if self.unanswered_probes >= rtt.patience() || silent {
            return Expired::GiveUp;
        }
        if self.device_full {
            self.try_the_device_later(now);
            return Expired::Nothing;
        }
        self.unanswered_probes += 1;
        self.persist = Deadline::OFF;
        self.persist_backoff += 1;
        Expired::Probe
    }

    /// Handles the expiry of the retransmission timer: [`Expired::Pass`] if something is to be sent
    /// again now.
    pub(super) fn on_retransmission(&mut self, now: Instant, rtt: &RttEstimator) -> Expired {
        if rtt.exhausted() || self.user_timeout_over(now) {
            return Expired::GiveUp;
        }
        if self.device_full {
            // Without backoff, because the retransmission could not leave.
            self.retransmit = self.at_most_user_timeout(now + RETRY);
            return Expired::Nothing;
        }
        self.retransmit = Deadline::OFF;
        Expired::Pass
    }

    /// Turns all of these timers off, because the connection is gone.
    pub(super) fn stop(&mut self) {
        *self = Self {
            unanswered_probes: self.unanswered_probes,
            device_full: self.device_full,
            ..Self::new(self.user_timeout, self.empty_probes)
        };
    }

    /// Returns whether a closed window has been probed as often as anything is retransmitted,
    /// whether or not the probes were answered.
    pub(super) fn probed_enough(&self, rtt: &RttEstimator) -> bool {
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
