//! The end of slow start before anything is lost: HyStart as on Linux, and HyStart++ (RFC 9406).
//! Both watch the least round trip of each round. Names are those of their sources.

use crate::extensions::SlowStartExit;
use crate::offset::Offset;
use crate::time::{Duration, Instant};

/// N_RTT_SAMPLE (RFC 9406, section 4.2); `HYSTART_MIN_SAMPLES`.
const SAMPLES: u32 = 8;
/// MIN_RTT_THRESH and MAX_RTT_THRESH (section 4.2); `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR (section 4.2).
const RISE_DIVISOR: u64 = 8;
/// CSS_ROUNDS (section 4.2).
const CSS_ROUNDS: u32 = 5;
/// `hystart_low_window`, in segments: HyStart is off below it.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`: ACKs that come closer than this belong to one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// The most time that a train of four of the device's packets may add (`hystart_ack_delay`).
const MOST_TRAIN_DELAY: Duration = Duration::from_millis(1);
const TRAIN_OCTETS: u64 = 4 * 65_536;

/// The state of a slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowStart {
    kind: SlowStartExit,
    /// The acknowledgment number that ends the round (windowEnd; `end_seq`).
    window_end: Offset,
    round_start: Instant,
    /// The last ACK of the train.
    last_ack: Instant,
    /// rttSampleCount.
    samples: u32,
    /// currentRoundMinRTT and lastRoundMinRTT.
    current: Option<Duration>,
    last: Option<Duration>,
    /// The least round trip since slow start began (`delay_min`).
    least: Option<Duration>,
    /// Conservative Slow Start: cssBaselineMinRtt, and the number of its rounds that have ended.
    conservative: Option<(Duration, u32)>,
    found: bool,
}

/// An ACK in slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) now: Instant,
    pub(crate) una: Offset,
    pub(crate) nxt: Offset,
    pub(crate) round_trip: Duration,
    /// The window in segments.
    pub(crate) window: u64,
    /// The kernel's pacing rate, in octets per second.
    pub(crate) rate: u64,
    pub(crate) paced: bool,
}

/// The decision about slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    Double,
    /// Continue with Conservative Slow Start.
    Slowly,
    Leave,
}

impl SlowStart {
    /// The part of what was delivered by which Conservative Slow Start lets the window grow
    /// (section 4.2).
    pub(crate) const CSS_GROWTH_DIVISOR: u64 = 4;

    pub(crate) fn new(kind: SlowStartExit) -> Self {
        Self {
            kind,
            window_end: Offset::FIRST,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            samples: 0,
            current: None,
            last: None,
            least: None,
            conservative: None,
            found: false,
        }
    }

    /// Returns whether the rule is for the slow start with which a connection begins, and for no
    /// other.
    pub(crate) fn is_for_the_initial_one(&self) -> bool {
        self.kind == SlowStartExit::HystartPlusPlus
    }

    /// Begins anew after a timeout; `nxt` is SND.NXT.
    pub(crate) fn restart(&mut self, now: Instant, nxt: Offset) {
        *self = Self {
            window_end: nxt,
            round_start: now,
            last_ack: now,
            ..Self::new(self.kind)
        };
    }

    /// Takes in an ACK. Returns how slow start goes on.
    pub(crate) fn on_ack(&mut self, heard: &Heard) -> Advice {
        self.least = Some(
            self.least
                .map_or(heard.round_trip, |least| least.min(heard.round_trip)),
        );
        if self.found {
            return Advice::Double;
        }
        self.found = match self.kind {
            SlowStartExit::Hystart => self.hystart(heard),
            SlowStartExit::HystartPlusPlus => self.hystart_plus_plus(heard),
        };
        match (self.found, self.conservative) {
            (true, _) => Advice::Leave,
            (false, Some(_)) => Advice::Slowly,
            (false, None) => Advice::Double,
        }
    }

    /// `hystart_update`: returns whether slow start must end.
    fn hystart(&mut self, heard: &Heard) -> bool {
        if heard.una > self.window_end {
            self.begin_round(heard);
        }
        if heard.window < LOW_WINDOW {
            return false;
        }
        let least = self.least.unwrap_or(heard.round_trip);
        if heard.now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = heard.now;
            let most = TRAIN_OCTETS * 1_000_000_000 / heard.rate.max(1);
            let delay = MOST_TRAIN_DELAY.min(Duration::from_nanos(most));
            // "Pacing might have delayed packets up to RTT/2 during slow start."
            let share = if heard.paced { 1 } else { 2 };
            let threshold = Duration::from_nanos((least + delay).as_nanos() / share);
            if heard.now.since(self.round_start) > threshold {
                return true;
            }
        }
        let current = self
            .current
            .map_or(heard.round_trip, |it| it.min(heard.round_trip));
        self.current = Some(current);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        current > least + rise(least)
    }

    /// RFC 9406, section 4.2: returns whether slow start must end.
    fn hystart_plus_plus(&mut self, heard: &Heard) -> bool {
        if heard.una >= self.window_end {
            self.begin_round(heard);
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    return true;
                }
            }
        }
        let current = self
            .current
            .map_or(heard.round_trip, |it| it.min(heard.round_trip));
        self.current = Some(current);
        self.samples += 1;
        if self.samples < SAMPLES {
            return false;
        }
        match (self.conservative, self.last) {
            // "If the flow exits CSS ... the slow start was exited prematurely".
            (Some((baseline, _)), _) if current < baseline => self.conservative = None,
            (None, Some(last)) if current >= last + rise(last) => {
                self.conservative = Some((current, 0));
            }
            _ => {}
        }
        false
    }

    fn begin_round(&mut self, heard: &Heard) {
        self.window_end = heard.nxt;
        self.round_start = heard.now;
        self.last_ack = heard.now;
        self.last = self.current.or(self.last);
        self.current = None;
        self.samples = 0;
    }
}

/// Returns RttThresh (RFC 9406, section 4.2; `HYSTART_DELAY_THRESH`).
fn rise(least: Duration) -> Duration {
    Duration::from_nanos(least.as_nanos() / RISE_DIVISOR).clamp(LEAST_RISE, MOST_RISE)
}
