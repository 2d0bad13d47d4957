//! CUBIC (RFC 9438): the window follows a cubic function of the time since the last loss, with its
//! plateau at the window of that loss, and never grows slower than Reno's. Names are the RFC's,
//! which counts windows in segments.

use super::{Ack, Control, Window};
use crate::time::{Duration, Instant};

/// Section 4.6, beta_cubic.
const BETA: f64 = 0.7;
/// Section 5, C.
const C: f64 = 0.4;
/// Section 4.3: with this value, Reno-friendly growth is as fast as Reno's on average.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The variables of section 4.1.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// W_max, in segments; zero before any loss.
    w_max: f64,
    /// cwnd_prior, in segments.
    cwnd_prior: f64,
    /// The present congestion avoidance stage.
    epoch: Option<Epoch>,
    /// Whether the loss before this stage was detected by a timeout.
    after_timeout: bool,
    /// When the last acknowledgment since the last loss came.
    last_ack: Option<Instant>,
    used: Used,
    /// The growth that is less than an octet.
    fraction: f64,
    /// Set if the function is evaluated now and then instead of at every acknowledgment.
    look: Option<Look>,
}

/// The time between two evaluations while the window has the same number of segments (Linux's
/// `bictcp_update`: a thirty-second of a second).
const BETWEEN_LOOKS: Duration = Duration::from_micros(31_250);

/// The last evaluation of the function.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    at: Instant,
    /// The window after it, in whole segments.
    segments: u64,
    /// What was acknowledged since, in segments.
    acked: f64,
}

impl Look {
    /// Counts what was acknowledged, and returns all of it once the function is to be evaluated.
    fn count(&mut self, acked: f64, segments: u64, now: Instant) -> Option<f64> {
        self.acked += acked;
        let waits = segments == self.segments && now.since(self.at) <= BETWEEN_LOOKS;
        if waits {
            return None;
        }
        self.at = now;
        self.segments = segments;
        Some(core::mem::take(&mut self.acked))
    }
}

/// How much of the window was in use lately.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// The largest flight of a round trip, in octets, and when that round trip began.
    most: u64,
    since: Instant,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// K, in seconds.
    k: f64,
    /// The plateau: W_max, or the window it began with if that is larger.
    origin: f64,
    /// W_est: Reno's window, in segments.
    w_est: f64,
}

impl Control for Cubic {
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        // Section 5.8: "CUBIC does not increase its congestion window if a flow is application
        // limited": a window that is not filled tells nothing about the path.
        let used = self.used.after(ack);
        let last = self.last_ack.replace(ack.now).unwrap_or(ack.now);
        let gap = ack.now.since(last);
        if *window.cwnd < *window.ssthresh {
            self.leave_out(gap);
            // A flight may double in a round trip, so only the next one can fill the window (Linux:
            // `tcp_is_cwnd_limited`).
            if *window.cwnd >= 2 * used {
                return;
            }
            // Slow start counts octets, because with offload one ACK stands for many segments (RFC
            // 3465; Linux's `tcp_slow_start` has no limit L either).
            let room = *window.ssthresh - *window.cwnd;
            *window.cwnd = (*window.cwnd + ack.octets.min(room)).min(window.cap);
            return;
        }
        let mss = window.mss as f64;
        let cwnd = *window.cwnd as f64 / mss;
        let is_used = used + window.mss >= *window.cwnd;
        let round_trip = ack.srtt.unwrap_or(Duration::ZERO);
        if !is_used {
            self.leave_out(gap);
        } else if gap > round_trip.times(2) {
            // A pause that ends with a full window.
            self.leave_out(gap - round_trip);
        }
        let mut epoch = self.epoch.unwrap_or_else(|| self.new_epoch(ack.now, cwnd));
        self.epoch = Some(epoch);
        if !is_used {
            return;
        }
        let acked = ack.octets as f64 / mss;
        // Section 4.3, figure 4.
        let alpha = if epoch.w_est < self.cwnd_prior {
            ALPHA
        } else {
            1.0
        };
        epoch.w_est += alpha * acked / cwnd;
        self.epoch = Some(epoch);
        let segments = *window.cwnd / window.mss;
        let acked = match &mut self.look {
            None => Some(acked),
            Some(look) => look.count(acked, segments, ack.now),
        };
        let Some(acked) = acked else {
            return;
        };
        let octets = (epoch.grown(cwnd, acked, ack) - cwnd) * mss + self.fraction;
        self.fraction = octets - libm::trunc(octets);
        *window.cwnd = (*window.cwnd + octets as u64).min(window.cap);
    }

    fn on_loss(&mut self, mut window: Window<'_>, flight: u64) {
        self.reduce(&mut window, flight);
        self.after_timeout = false;
        *window.cwnd = *window.ssthresh;
    }

    fn on_timeout(&mut self, mut window: Window<'_>, flight: u64) {
        self.reduce(&mut window, flight);
        self.after_timeout = true;
        *window.cwnd = window.mss;
    }
}

impl Cubic {
    /// Returns CUBIC as on Linux: the function is evaluated at most 32 times a second while the
    /// window has the same number of segments.
    #[must_use]
    pub fn linux() -> Self {
        Self {
            look: Some(Look::default()),
            ..Self::default()
        }
    }

    /// Reduces the window (sections 4.6 and 4.7).
    fn reduce(&mut self, window: &mut Window<'_>, flight: u64) {
        let cwnd = *window.cwnd as f64 / window.mss as f64;
        // Fast convergence: a flow whose plateau sinks leaves room for newer ones.
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.last_ack = None;
        self.fraction = 0.0;
        let reduced = (flight as f64 * BETA) as u64;
        *window.ssthresh = reduced.max(2 * window.mss);
    }

    /// Removes `gap` from the stage's time: time in which the window is not used, or not CUBIC's,
    /// does not count (section 5.8; Linux: `cubictcp_cwnd_event`).
    fn leave_out(&mut self, gap: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start += gap;
        }
    }

    /// Returns the new stage, which begins with its first ACK (section 4.2; after a timeout,
    /// section 4.8: K is 0 and W_max is the present window).
    fn new_epoch(&self, now: Instant, cwnd: f64) -> Epoch {
        let plateau_ahead = self.w_max > cwnd && !self.after_timeout;
        let origin = if plateau_ahead { self.w_max } else { cwnd };
        Epoch {
            start: now,
            k: libm::cbrt((origin - cwnd) / C),
            origin,
            w_est: cwnd,
        }
    }
}

impl Used {
    /// Returns the largest flight of the last round trip, this ACK's included.
    fn after(&mut self, ack: &Ack) -> u64 {
        let round_trip = ack.srtt.unwrap_or(Duration::ZERO);
        if ack.now.since(self.since) > round_trip {
            *self = Self {
                most: ack.flight,
                since: ack.now,
            };
        }
        self.most = self.most.max(ack.flight);
        self.most
    }
}

impl Epoch {
    /// Returns W_cubic(t), in segments.
    fn w_cubic(&self, seconds: f64) -> f64 {
        let t = seconds - self.k;
        C * (t * t * t) + self.origin
    }

    /// Returns the window after `acked` segments were acknowledged, all in segments (sections 4.2
    /// to 4.5).
    fn grown(&self, cwnd: f64, acked: f64, ack: &Ack) -> f64 {
        let t = seconds(ack.now.since(self.start));
        let round_trip = seconds(ack.srtt.unwrap_or(Duration::ZERO));
        if self.w_cubic(t) < self.w_est {
            return self.w_est.max(cwnd);
        }
        let target = self.w_cubic(t + round_trip).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) * (acked / cwnd).min(1.0)
    }
}

fn seconds(length: Duration) -> f64 {
    length.as_nanos() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Acknowledges a window per round trip for as many seconds.
    fn avoid(cubic: &mut Cubic, cwnd: &mut u64, from: Instant, secs: u64, rtt_ms: u64) -> Instant {
        let mut now = from;
        while now.since(from) < Duration::from_secs(secs) {
            now += Duration::from_millis(rtt_ms);
            for _ in 0..*cwnd / MSS {
                // A bulk sender fills what each ACK adds.
                let flight = *cwnd;
                acknowledge_after(cubic, cwnd, 0, now, flight, rtt_ms);
            }
        }
        now
    }

    fn lose(cubic: &mut Cubic, cwnd: &mut u64) {
        let (mut ssthresh, flight) = (0, *cwnd);
        cubic.on_loss(
            Window {
                cwnd,
                ssthresh: &mut ssthresh,
                mss: MSS,
                cap: 1 << 40,
            },
            flight,
        );
    }

    #[test]
    fn after_k_seconds_the_window_is_back_where_the_loss_was() {
        let (mut cubic, mut cwnd) = (Cubic::default(), 1000 * MSS);
        lose(&mut cubic, &mut cwnd);
        assert_eq!(cwnd, 700 * MSS);
        // K = cbrt(300 / 0.4) = 9.09 s.
        let then = avoid(&mut cubic, &mut cwnd, Instant::ZERO, 9, 100);
        assert!((990 * MSS..=1001 * MSS).contains(&cwnd), "{cwnd}");
        // Beyond the plateau it probes: 0.4 * (18 - 9.09)^3 = 283 segments more.
        avoid(&mut cubic, &mut cwnd, then, 9, 100);
        assert!((1250 * MSS..1330 * MSS).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn on_short_paths_it_is_as_fast_as_reno() {
        let (mut cubic, mut cwnd) = (Cubic::default(), 20 * MSS);
        lose(&mut cubic, &mut cwnd);
        assert_eq!(cwnd, 14 * MSS);
        // A second of 5 ms round trips: Reno's alpha 0.53 to 20 segments, then 1 per round trip;
        // the cubic function alone would have reached 20 only after 2.5 s.
        avoid(&mut cubic, &mut cwnd, Instant::ZERO, 1, 5);
        assert!(cwnd > 100 * MSS, "{cwnd}");
    }

    /// Acknowledges a segment, `flight` octets having been outstanding.
    fn acknowledge(cubic: &mut Cubic, cwnd: &mut u64, ssthresh: u64, now: Instant, flight: u64) {
        acknowledge_after(cubic, cwnd, ssthresh, now, flight, 10);
    }

    /// The same on a path of this round trip.
    fn acknowledge_after(
        cubic: &mut Cubic,
        cwnd: &mut u64,
        ssthresh: u64,
        now: Instant,
        flight: u64,
        rtt_ms: u64,
    ) {
        let window = Window {
            cwnd,
            ssthresh: &mut { ssthresh },
            mss: MSS,
            cap: 1 << 40,
        };
        let ack = Ack {
            octets: MSS,
            flight,
            now,
            srtt: Some(Duration::from_millis(rtt_ms)),
        };
        cubic.on_ack(window, &ack);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        // In slow start no further than twice what is in flight.
        let (mut cubic, mut cwnd) = (Cubic::default(), 10 * MSS);
        for round in 1..1000 {
            acknowledge(&mut cubic, &mut cwnd, 1 << 40, at(20 * round), 8 * MSS);
        }
        assert_eq!(cwnd, 16 * MSS);
        // In congestion avoidance not at all; and the plateau of the next loss is the window that
        // was there, not one that time alone would have made.
        let (mut cubic, mut cwnd) = (Cubic::default(), 10 * MSS);
        for round in 1..1000 {
            acknowledge(&mut cubic, &mut cwnd, 0, at(20 * round), 5 * MSS);
        }
        assert_eq!(cwnd, 10 * MSS);
        lose(&mut cubic, &mut cwnd);
        assert_eq!(cubic.w_max, 10.0);
    }

    #[test]
    fn a_stage_that_begins_after_a_long_silence_begins_then() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let (mut cubic, mut cwnd) = (Cubic::default(), 100 * MSS);
        acknowledge(&mut cubic, &mut cwnd, 0, at(10), 100 * MSS);
        lose(&mut cubic, &mut cwnd);
        // A minute later, with little in flight at first.
        acknowledge(&mut cubic, &mut cwnd, 0, at(60_000), 5 * MSS);
        assert_eq!(cubic.epoch.expect("a stage").start, at(60_000));
    }

    #[test]
    fn a_pause_that_ends_with_a_full_window_is_no_time_to_grow_in() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let (mut cubic, mut cwnd) = (Cubic::default(), 100 * MSS);
        lose(&mut cubic, &mut cwnd);
        let begins = cwnd;
        acknowledge(&mut cubic, &mut cwnd, 0, at(10), begins);
        // A minute of silence; then a round trip of full windows, and slow start on the way to one.
        for ack in 0..begins / MSS {
            let flight = cwnd;
            acknowledge(&mut cubic, &mut cwnd, 0, at(60_000 + ack / 10), flight);
        }
        acknowledge(&mut cubic, &mut cwnd, 1 << 40, at(120_000), begins);
        let flight = cwnd;
        acknowledge(&mut cubic, &mut cwnd, 0, at(120_010), flight);
        assert!(
            cwnd < begins + 5 * MSS,
            "{} of {}",
            cwnd / MSS,
            begins / MSS
        );
    }

    #[test]
    fn linux_looks_at_the_function_32_times_a_second() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let begin = |mut cubic: Cubic| {
            let mut cwnd = 10 * MSS;
            lose(&mut cubic, &mut cwnd);
            let flight = cwnd;
            // Eight acknowledgments 2 ms apart, of which the RFC has each move the window.
            for ack in 0..8 {
                acknowledge_after(&mut cubic, &mut cwnd, 0, at(100 + 2 * ack), flight, 100);
            }
            (cubic, cwnd, flight)
        };
        let (_, rfc, _) = begin(Cubic::default());
        let (mut cubic, linux, flight) = begin(Cubic::linux());
        assert!(linux < rfc, "{linux} {rfc}");
        acknowledge_after(&mut cubic, &mut { linux }, 0, at(130), flight, 100);
        let mut after = linux;
        acknowledge_after(&mut cubic, &mut after, 0, at(132), flight, 100);
        assert!(after >= rfc, "{after} {rfc}");
    }

    #[test]
    fn a_sinking_plateau_converges_fast() {
        let (mut cubic, mut cwnd) = (Cubic::default(), 100 * MSS);
        lose(&mut cubic, &mut cwnd);
        assert_eq!(cubic.w_max, 100.0);
        lose(&mut cubic, &mut cwnd);
        assert_eq!(cubic.w_max, 70.0 * 0.85);
    }
}
