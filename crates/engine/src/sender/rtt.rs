//! Round-trip time and retransmission timeout: as in RFC 6298, with one timed segment at a time, or
//! as on Linux, from every acknowledgment.

use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// The rules of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoRules {
    /// The timeout before the first measurement (RFC 6298, section 2.1: 1 s).
    pub initial: Duration,
    /// The least timeout (section 2.4: 1 s).
    pub min: Duration,
    /// The least distance of the timeout above SRTT. Linux has its bound of 200 ms here
    /// (`tcp_rtt_estimator`, `__tcp_set_rto`); the RFC has only the clock's granularity.
    pub margin: Duration,
    /// The greatest timeout (section 2.5: at least 60 s).
    pub max: Duration,
    /// The clock's granularity G (section 2.3).
    pub granularity: Duration,
    /// How many retransmissions in a row end the connection (RFC 9293's R2, as BSD counts it).
    pub give_up_after: u32,
    /// Whether every acknowledgment of new data is a measurement and the variance follows the worst
    /// of a round trip (Linux: `tcp_rtt_estimator`), while a scoreboard knows what was sent when.
    /// Otherwise, and without SACK, one segment per round trip is timed (section 3).
    pub every_ack: bool,
}

impl RtoRules {
    /// The RFC's recommended values.
    pub const RFC_6298: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        margin: Duration::ZERO,
        max: Duration::from_secs(60),
        granularity: Duration::from_millis(1),
        give_up_after: 12,
        every_ack: false,
    };
}

/// The timeout of the first data after a handshake whose SYN timed out (section 5.7).
const AFTER_A_LOST_SYN: Duration = Duration::from_secs(3);

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    rules: RtoRules,
    srtt: Option<Duration>,
    rttvar: Duration,
    rto: Duration,
    /// How often the timeout was doubled (section 5.5). A measurement resets it; an ACK alone does
    /// not (section 5, the note on rule 5.5).
    backoff: u32,
    /// Timeouts in a row without progress.
    unanswered: u32,
    /// The segment being timed: its end, and when it left.
    timed: Option<(Offset, Instant)>,
    /// SND.MAX when an echoed timestamp last gave a sample: with one sample per round trip the
    /// gains of section 2 stay right (RFC 7323, section 4.2).
    echoed: Offset,
    /// The end of the new data that left last, and Linux's further variables.
    newest: Offset,
    deviation: Deviation,
}

/// Linux's variance: it follows a growing mean deviation at once; once per round trip it falls by a
/// quarter of its distance to the greatest mean deviation of that round trip. All values are four
/// times the deviation, in nanoseconds, as they are added to the timeout.
#[derive(Clone, Copy, Debug)]
struct Deviation {
    /// `mdev_us`.
    mean: u64,
    /// `mdev_max_us`.
    most: u64,
    /// `rttvar_us`.
    variance: u64,
    /// `rtt_seq`: the acknowledgment number that ends the round trip.
    round_ends: Offset,
}

impl Deviation {
    const NONE: Self = Self {
        mean: 0,
        most: 0,
        variance: 0,
        round_ends: Offset::SYN,
    };

    /// Returns the state after the first measurement; no value falls below `least`.
    fn first(rtt: u64, least: u64, newest: Offset) -> Self {
        let variance = (2 * rtt).max(least);
        Self {
            mean: 2 * rtt,
            most: variance,
            variance,
            round_ends: newest,
        }
    }

    /// Takes in a measurement that is `error` nanoseconds from the mean.
    fn take_in(&mut self, error: i64, least: u64, una: Offset, newest: Offset) {
        let off = error.unsigned_abs() as i64 - (self.mean / 4) as i64;
        // A round trip that is quicker than usual tells little about how slow one may be.
        let gently = error < 0 && off > 0;
        self.mean = self
            .mean
            .saturating_add_signed(if gently { off / 8 } else { off });
        self.most = self.most.max(self.mean);
        self.variance = self.variance.max(self.most);
        if una > self.round_ends {
            self.variance -= self.variance.saturating_sub(self.most) / 4;
            self.round_ends = newest;
            self.most = least;
        }
    }
}

/// The echoed timestamp of an acknowledgment.
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
            newest: Offset::SYN,
            deviation: Deviation::NONE,
        }
    }

    /// Discards all measurements.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.rules);
    }

    /// Returns SRTT, once there is one.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    /// Returns RTTVAR.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// Returns how often the timeout was doubled.
    #[must_use]
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Returns the timeout with its backoff.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rto
            .times(1 << self.backoff.min(20))
            .min(self.rules.max)
    }

    /// Returns the timeouts in a row without progress.
    #[must_use]
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Records that the peer answers without progress, because its window is closed.
    pub(super) fn answered(&mut self) {
        self.unanswered = 0;
    }

    /// Returns the clock's granularity.
    #[must_use]
    pub fn granularity(&self) -> Duration {
        self.rules.granularity
    }

    /// Returns the number of unanswered tries that ends the connection.
    #[must_use]
    pub fn patience(&self) -> u32 {
        self.rules.give_up_after
    }

    /// Returns whether to give up instead of retransmitting once more.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.unanswered >= self.rules.give_up_after
    }

    /// Records that new data left at `now`, ending at `end`. Times it if nothing else is being
    /// timed.
    #[inline]
    pub fn sent(&mut self, end: Offset, now: Instant) {
        self.newest = end;
        if self.timed.is_none() {
            self.timed = Some((end, now));
        }
    }

    /// Returns whether every acknowledgment is a measurement.
    #[inline]
    pub(super) fn times_every_ack(&self) -> bool {
        self.rules.every_ack
    }

    /// Takes in an ACK up to `ack` at `now` of segments that were sent once, the first of them at
    /// `left`. Returns the round trip.
    pub(super) fn acked_since(&mut self, ack: Offset, now: Instant, left: Instant) -> Duration {
        self.unanswered = 0;
        self.backoff = 0;
        if self.timed.is_some_and(|(end, _)| ack >= end) {
            self.timed = None;
        }
        self.measure(ack, now.since(left))
    }

    /// Takes in an ACK of new data up to `ack` at `now`. Returns the round trip if it measured one.
    #[inline]
    pub fn acked(&mut self, ack: Offset, now: Instant, echo: Option<Echo>) -> Option<Duration> {
        self.unanswered = 0;
        if let Some((end, sent_at)) = self.timed
            && ack >= end
        {
            self.timed = None;
            self.backoff = 0;
            return Some(self.measure(ack, now.since(sent_at)));
        }
        if let Some(echo) = echo
            && (self.backoff > 0 || (self.timed.is_none() && ack > self.echoed))
        {
            // The echo distinguishes an original from its retransmission (RFC 7323, section 4). So
            // it also ends a backoff at once (RFC 6298, section 5, the note on rule 5.5): otherwise
            // each further loss of the same flight doubles the timeout once more.
            self.echoed = echo.max;
            self.backoff = 0;
            return Some(self.measure(ack, echo.age));
        }
        if self.backoff > 0 && ack == Offset::FIRST {
            self.backoff = 0;
            self.rto = self.rto.max(AFTER_A_LOST_SYN);
        }
        None
    }

    /// Handles the expiry of the timer: backs off, and lets no retransmitted segment be timed
    /// (Karn's algorithm, section 3).
    pub fn timed_out(&mut self) {
        self.backoff += 1;
        self.unanswered += 1;
        self.timed = None;
    }

    /// Stops timing the segment because something is retransmitted: an ACK would be ambiguous.
    pub fn distrust(&mut self) {
        self.timed = None;
    }

    fn measure(&mut self, ack: Offset, rtt: Duration) -> Duration {
        if self.rules.every_ack {
            self.smooth_as_linux(ack, rtt);
            return rtt;
        }
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

    /// `tcp_rtt_estimator`, `__tcp_set_rto`.
    fn smooth_as_linux(&mut self, una: Offset, rtt: Duration) {
        let least = self.rules.granularity.max(self.rules.margin).as_nanos();
        let rtt = rtt.as_nanos();
        let srtt = match self.srtt {
            None => {
                self.deviation = Deviation::first(rtt, least, self.newest);
                rtt
            }
            Some(srtt) => {
                let error = rtt as i64 - srtt.as_nanos() as i64;
                self.deviation.take_in(error, least, una, self.newest);
                srtt.as_nanos().saturating_add_signed(error / 8)
            }
        };
        self.rttvar = Duration::from_nanos(self.deviation.mean / 4);
        self.srtt = Some(Duration::from_nanos(srtt));
        let rto = Duration::from_nanos(srtt + self.deviation.variance);
        self.rto = rto.max(self.rules.min).min(self.rules.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the timeout after a hundred round trips of 20 ms each.
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

    /// A flight of ten segments lost its second and its third. Each is sent again by a timeout, and
    /// each acknowledgment echoes the retransmission's timestamp.
    #[test]
    fn an_echo_ends_the_backoff_within_a_flight() {
        let ms = Duration::from_millis;
        let max = Offset::new(10_001);
        let echo = Some(Echo { age: ms(20), max });
        let mut rtt = RttEstimator::new(RtoRules {
            min: ms(200),
            ..RtoRules::RFC_6298
        });
        rtt.acked(Offset::new(1001), Instant::ZERO + ms(20), echo);
        for next in [2001, 3001] {
            rtt.timed_out();
            assert_eq!(rtt.rto(), ms(400));
            rtt.acked(Offset::new(next), Instant::ZERO + ms(500), echo);
            assert_eq!(rtt.rto(), ms(200));
        }
    }

    /// Linux: ten segments leave every 100 ms, and each is acknowledged alone, one millisecond
    /// after the other. All ten count, so the mean is theirs (104.5 ms) and not that of the first
    /// (100 ms). A round trip that is a second late counts in full at once and is forgotten by a
    /// quarter in each later one.
    #[test]
    fn linux_measures_with_every_acknowledgment() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::new(RtoRules {
            min: ms(200),
            margin: ms(200),
            every_ack: true,
            ..RtoRules::RFC_6298
        });
        let mut trip = 0;
        let mut round = |rtt: &mut RttEstimator, late: Duration| {
            let left = Instant::ZERO + ms(5000 * trip);
            for segment in 1..=10 {
                rtt.sent(Offset::new(1000 * (10 * trip + segment)), left);
            }
            for segment in 1..=10 {
                let ack = Offset::new(1000 * (10 * trip + segment));
                rtt.acked_since(ack, left + ms(99 + segment) + late, left);
            }
            trip += 1;
        };
        for _ in 0..20 {
            round(&mut rtt, Duration::ZERO);
        }
        let srtt = rtt.srtt().expect("measured").as_nanos() / 100_000;
        assert!((1045..1065).contains(&srtt), "{srtt}");
        assert_eq!(rtt.rto(), rtt.srtt().expect("measured") + ms(200));
        round(&mut rtt, ms(1000));
        let first = rtt.rto();
        assert!(first > ms(2000), "{first:?}");
        let mut before = first;
        for _ in 0..5 {
            round(&mut rtt, Duration::ZERO);
            assert!(rtt.rto() < before);
            before = rtt.rto();
        }
    }
}
