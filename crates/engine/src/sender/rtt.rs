//! Round-trip time and retransmission time-out (RFC 6298), one timed segment at a time.

use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// Bounds of the time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRules {
    /// Before the first measurement (RFC 6298, section 2.1: 1 s).
    pub initial: Duration,
    /// Never less than this (section 2.4: 1 s).
    pub min: Duration,
    /// Never less than this above SRTT. Linux has its bound of 200 ms here (`tcp_rtt_estimator`,
    /// `__tcp_set_rto`); the RFC has only the clock's granularity.
    pub margin: Duration,
    /// Never more than this (section 2.5: at least 60 s).
    pub max: Duration,
    /// The clock's granularity G (section 2.3).
    pub granularity: Duration,
    /// Give up after this many retransmissions in a row (RFC 9293's R2, as BSD counts it).
    pub give_up_after: u32,
}

impl RtoRules {
    /// As the RFC recommends.
    pub const RFC_6298: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        margin: Duration::ZERO,
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
        give_up_after: 12,
    };
}

/// Data after a handshake whose SYN timed out begins with this (section 5.7).
const AFTER_A_LOST_SYN: Duration = Duration::from_secs(3);

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    rules: RtoRules,
    srtt: Option<Duration>,
    rttvar: Duration,
    rto: Duration,
    /// How often the time-out is doubled (section 5.5); a measurement ends it, an ACK alone does
    /// not (section 5, the note on rule 5.5).
    backoff: u32,
    /// Time-outs in a row without any progress.
    unanswered: u32,
    /// The segment being timed: where it ends and when it left.
    timed: Option<(Offset, Instant)>,
    /// What was in flight when an echoed timestamp was last measured with: one sample in a round
    /// trip keeps the gains of section 2 (RFC 7323, section 4.2).
    echoed: Offset,
}

/// An acknowledgment that echoes a timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// How long ago the timestamp was sent.
    pub age: Duration,
    /// SND.MAX.
    pub max: Offset,
}

impl RttEstimator {
    /// Returns an estimator that has measured nothing.
    #[must_use]
    pub fn new(rules: RtoRules) -> Self {
        Self {
            rules,
            srtt: None,
            rttvar: Duration::ZERO,
            rto: rules.initial,
            backoff: 0,
            unanswered: 0,
            timed: None,
            echoed: Offset::SYN,
        }
    }

    /// Forgets all measurements.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.rules);
    }

    /// SRTT, once there is one.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// RTTVAR.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// Returns how often the time-out was doubled.
    #[must_use]
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Returns the time-out with its backoff.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rto
            .times(1 << self.backoff.min(20))
            .min(self.rules.max)
    }

    /// Time-outs in a row without any progress.
    #[must_use]
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// The peer answers, though it makes no progress: its window is closed.
    pub(super) fn answered(&mut self) {
        self.unanswered = 0;
    }

    /// Returns the clock's granularity.
    #[must_use]
    pub fn granularity(&self) -> Duration {
        self.rules.granularity
    }

    /// After how many tries without an answer to give up.
    #[must_use]
    pub fn patience(&self) -> u32 {
        self.rules.give_up_after
    }

    /// Returns whether to give up rather than to retransmit once more.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.unanswered >= self.rules.give_up_after
    }

    /// New data left at `now`, ending at `end`. Times it, if nothing else is being timed.
    #[inline]
    pub fn sent(&mut self, end: Offset, now: Instant) {
        if self.timed.is_none() {
            self.timed = Some((end, now));
        }
    }

    /// Takes in an ACK of new data up to `ack` at `now`. Returns the round trip that it measured, if it did.
    #[inline]
    pub fn acked(&mut self, ack: Offset, now: Instant, echo: Option<Echo>) -> Option<Duration> {
        self.unanswered = 0;
        if let Some((end, sent_at)) = self.timed
            && ack >= end
        {
            self.timed = None;
            self.backoff = 0;
            return Some(self.measure(now.since(sent_at)));
        }
        if let Some(echo) = echo
            && self.timed.is_none()
            && ack > self.echoed
        {
            // The echo tells an original from its retransmission (RFC 7323, section 4).
            self.echoed = echo.max;
            self.backoff = 0;
            return Some(self.measure(echo.age));
        }
        if self.backoff > 0 && ack == Offset::FIRST {
            self.backoff = 0;
            self.rto = self.rto.max(AFTER_A_LOST_SYN);
        }
        None
    }

    /// The timer expired: back off, and let no retransmitted segment be timed (Karn's algorithm,
    /// section 3).
    pub fn timed_out(&mut self) {
        self.backoff += 1;
        self.unanswered += 1;
        self.timed = None;
    }

    /// Something is being retransmitted: an ACK would be ambiguous.
    pub fn distrust(&mut self) {
        self.timed = None;
    }

    fn measure(&mut self, rtt: Duration) -> Duration {
        let (srtt, rttvar) = match self.srtt {
            // Section 2.2.
            None => (rtt, Duration::from_nanos(rtt.as_nanos() / 2)),
            // Section 2.3, alpha 1/8 and beta 1/4.
            Some(srtt) => {
                let error = srtt.as_nanos().abs_diff(rtt.as_nanos());
                let var = (3 * self.rttvar.as_nanos() + error) / 4;
                let smooth = (7 * srtt.as_nanos() + rtt.as_nanos()) / 8;
                (Duration::from_nanos(smooth), Duration::from_nanos(var))
            }
        };
        self.srtt = Some(srtt);
        self.rttvar = rttvar;
        let least = self.rules.granularity.max(self.rules.margin);
        let margin = least.max(rttvar.times(4));
        self.rto = (srtt + margin).max(self.rules.min).min(self.rules.max);
        rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After a hundred round trips of 20 ms each.
    fn rto(margin: Duration) -> Duration {
        let mut rtt = RttEstimator::new(RtoRules {
            min: Duration::from_millis(200),
            margin,
            ..RtoRules::RFC_6298
        });
        for trip in 0..100 {
            let sent_at = Instant::ZERO + Duration::from_millis(20 * trip);
            let end = Offset::new(1000 * (trip + 1));
            rtt.sent(end, sent_at);
            rtt.acked(end, sent_at + Duration::from_millis(20), None);
        }
        rtt.rto()
    }

    #[test]
    fn the_least_time_out_is_the_rfc_s_in_all_and_linux_s_above_the_round_trip() {
        assert_eq!(rto(Duration::ZERO), Duration::from_millis(200));
        let linux = rto(Duration::from_millis(200));
        assert_eq!(linux, Duration::from_millis(220));
    }
}
