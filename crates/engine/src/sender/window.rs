//! The congestion window and all that moves it or delays what it allows.

mod ecn;
mod pacing;
mod restart;
mod slow_start;

use alloc::boxed::Box;

use super::config::SenderConfig;
use super::congestion::{Ack, Congestion, Control, Installed, Window};
use super::context::Context;
use crate::extensions::Extensions;
use crate::time::{Duration, Instant};
use pacing::{MOST_IN_A_BURST, Pacer, rate};
use restart::{Restart, Windows};
use slow_start::{Advice, Heard, SlowStart};

pub(crate) use ecn::Ecn;
pub(crate) use pacing::Departure;

/// If two segments are larger than this, in octets, the initial window is two segments (RFC 6928,
/// section 2).
const LARGEST_INITIAL: u64 = 14_600;

/// The congestion window, in octets unless said otherwise.
#[derive(Clone, Debug)]
pub(super) struct CongestionWindow {
    pub(super) cwnd: u64,
    pub(super) ssthresh: u64,
    /// The bound beyond which `cwnd` does not grow.
    cap: u64,
    /// The configured initial window; `initial` is what the agreed MSS makes of it.
    own_initial: u64,
    initial: u64,
    bounds_initial: bool,
    /// The algorithm.
    control: Installed,
    /// Whether a loss reduces the window instead of the flight.
    reduces_the_window: bool,
    /// The rule that ends slow start.
    slow_start: Option<Box<SlowStart>>,
    pub(super) ecn: Ecn,
    pub(super) restart: Restart,
    /// The state of pacing, which spreads every flight.
    pacer: Option<Box<Pacer>>,
}

/// The window and the algorithm's memory as they were before a reduction.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    cwnd: u64,
    ssthresh: u64,
    control: Installed,
}

/// What an acknowledgment says was delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) octets: u64,
    /// The octets that are still in the network.
    pub(super) in_network: u64,
    /// The round trip that it measured, if certain.
    pub(super) round_trip: Option<Duration>,
}

impl CongestionWindow {
    pub(super) fn new(config: &SenderConfig, extensions: &Extensions) -> Self {
        let mut window = Self {
            cwnd: config.initial_cwnd,
            ssthresh: config.cwnd_cap,
            cap: config.cwnd_cap,
            own_initial: config.initial_cwnd,
            initial: config.initial_cwnd,
            bounds_initial: extensions.bounds_initial_cwnd,
            control: config.congestion.clone().install(),
            reduces_the_window: extensions.linux.reduces_the_window,
            slow_start: extensions
                .slow_start_exit
                .map(|kind| Box::new(SlowStart::new(kind))),
            ecn: Ecn::default(),
            restart: Restart::new(config.idle_restart),
            pacer: extensions.pacing.then(Box::default),
        };
        window.bound_initial(config.mss);
        window
    }

    /// Returns the window after the handshake.
    pub(super) fn initial(&self) -> u64 {
        self.initial
    }

    pub(super) fn set_control(&mut self, congestion: Congestion) {
        self.control = congestion.install();
    }

    /// Bounds the initial window. RFC 6928, section 2: "min (10*MSS, max (2*MSS, 14600))".
    fn bound_initial(&mut self, mss: u32) {
        let bound = (2 * u64::from(mss)).max(LARGEST_INITIAL);
        if self.bounds_initial && self.initial > bound {
            self.initial = bound;
            self.cwnd = bound;
        }
    }

    /// Counts the initial window in segments of `mss` octets, if they are smaller than the
    /// configured ones of `own_mss`. Called before data is sent.
    pub(super) fn count_initial_in(&mut self, mss: u32, own_mss: u32) {
        if mss < own_mss {
            let segments = self.own_initial / u64::from(own_mss.max(1));
            self.initial = segments.max(1) * u64::from(mss);
            self.cwnd = self.initial;
        }
        self.bound_initial(mss);
    }

    /// Configures the initial window anew, because this side's segments have `mss` octets instead
    /// of `before`. Called before anything is sent.
    pub(super) fn configure_initial_for(&mut self, mss: u32, before: u32) {
        let segments = self.own_initial / u64::from(before.max(1));
        self.own_initial = segments * u64::from(mss);
        self.initial = self.own_initial;
        self.cwnd = self.initial;
        self.bound_initial(mss);
    }

    /// Lets the initial window hold a segment of `octets`.
    pub(super) fn initial_holds(&mut self, octets: u64) {
        self.initial = self.initial.max(octets);
    }

    /// Lets the window, now and after a restart, hold a segment of `octets`.
    pub(super) fn holds(&mut self, octets: u64) {
        self.cwnd = self.cwnd.max(octets);
        self.initial_holds(octets);
    }

    /// Begins anew after a failed handshake.
    pub(super) fn forget_peer(&mut self) {
        self.cwnd = self.initial;
        self.ssthresh = self.cap;
    }

    fn lend(&mut self, mss: u32) -> (Window<'_>, &mut Installed) {
        let window = Window {
            cwnd: &mut self.cwnd,
            ssthresh: &mut self.ssthresh,
            mss: u64::from(mss),
            cap: self.cap,
        };
        (window, &mut self.control)
    }

    /// Lets the window grow by what was delivered.
    #[inline(always)]
    pub(super) fn grow(&mut self, growth: Growth, context: &Context<'_>) {
        let octets = match growth.round_trip {
            Some(round_trip) if self.slow_start.is_some() => {
                self.mind_slow_start(growth.octets, round_trip, context)
            }
            _ => growth.octets,
        };
        let ack = Ack {
            octets,
            flight: growth.in_network + octets,
            now: context.now,
            srtt: context.rtt.srtt(),
        };
        let (window, control) = self.lend(context.mss);
        control.on_ack(window, &ack);
    }

    /// Takes in an ACK in slow start, with the round trip that it measured; slow start may end with
    /// it. Returns how much of `octets` the window may grow by.
    #[inline(never)]
    fn mind_slow_start(&mut self, octets: u64, round_trip: Duration, context: &Context<'_>) -> u64 {
        let heard = Heard {
            now: context.now,
            una: context.seq.una,
            nxt: context.seq.nxt,
            round_trip,
            window: self.cwnd / u64::from(context.mss),
            rate: self.rate(context).unwrap_or(u64::MAX),
            paced: self.pacer.is_some(),
        };
        let slow = self.cwnd < self.ssthresh;
        // RFC 9406, section 4.3: "HyStart++ ... only ... for the initial slow start".
        let initial = self.ssthresh >= self.cap;
        match &mut self.slow_start {
            Some(slow_start) if slow && (initial || !slow_start.is_for_the_initial_one()) => {
                match slow_start.on_ack(&heard) {
                    Advice::Double => octets,
                    Advice::Slowly => octets / SlowStart::CSS_GROWTH_DIVISOR,
                    Advice::Leave => {
                        self.ssthresh = self.cwnd;
                        octets
                    }
                }
            }
            _ => octets,
        }
    }

    /// Reduces the window for a loss or a mark, with `flight` octets outstanding.
    pub(super) fn reduce(&mut self, flight: u64, context: &Context<'_>) {
        let flight = self.to_reduce(flight);
        let (window, control) = self.lend(context.mss);
        control.on_loss(window, flight);
        self.ecn.reduced(context.seq.max);
    }

    /// Reduces the window for the echo of a mark, if that was not answered yet.
    pub(super) fn answer_a_mark(&mut self, flight: u64, context: &Context<'_>) {
        if self.ecn.is_a_new_mark(context.seq.una) {
            self.reduce(flight, context);
        }
    }

    /// Reduces the window as [`CongestionWindow::reduce`] does, if it bounds the pipe.
    pub(super) fn reduce_for_the_pipe(&mut self, flight: u64, context: &Context<'_>) {
        // Data that left beyond the window because segments were SACKed does not count (RFC 6675,
        // section 5, step 4.2).
        self.reduce(flight.min(self.cwnd), context);
        // With the pipe, duplicate ACKs need not inflate the window (RFC 6675, section 5, step
        // 4.2).
        self.cwnd = self.ssthresh;
    }

    /// Reduces the window for a retransmission timeout, with `flight` octets outstanding.
    pub(super) fn time_out(&mut self, flight: u64, context: &Context<'_>) {
        let flight = self.to_reduce(flight);
        let (window, control) = self.lend(context.mss);
        control.on_timeout(window, flight);
        self.ecn.reduced(context.seq.max);
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.restart(context.now, context.seq.nxt);
        }
    }

    /// Returns the octets that a loss reduces, with `flight` octets outstanding.
    fn to_reduce(&self, flight: u64) -> u64 {
        match self.reduces_the_window {
            true => self.cwnd,
            false => flight,
        }
    }

    /// Returns the window and the algorithm's memory, to be restored if a reduction proves needless.
    pub(super) fn save(&self) -> Saved {
        Saved {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            control: self.control.clone(),
        }
    }

    /// Restores what was saved: the algorithm's memory only if nothing has grown since.
    pub(super) fn restore(&mut self, saved: Saved, with_memory: bool) {
        self.cwnd = self.cwnd.max(saved.cwnd);
        self.ssthresh = self.ssthresh.max(saved.ssthresh);
        if with_memory {
            self.control = saved.control;
        }
    }

    /// Returns whether there is a rule for the first burst after an idle period.
    #[inline]
    pub(super) fn may_restart(&self) -> bool {
        self.restart.has_a_rule()
    }

    /// Applies that rule.
    pub(super) fn restart_by_rule(&mut self, context: &Context<'_>) {
        let before = Windows {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            initial: self.initial,
        };
        let idle = self.restart.idle(&before, context);
        if let Some(restarted) = self.restart.apply(&idle) {
            self.cwnd = restarted.cwnd;
            self.ssthresh = restarted.ssthresh;
        }
    }

    /// Returns whether departures are paced.
    #[inline]
    pub(super) fn is_paced(&self) -> bool {
        self.pacer.is_some()
    }

    /// Returns the algorithm's own rate, or the one that spreads the window over a round trip, in octets per second.
    pub(super) fn rate(&self, context: &Context<'_>) -> Option<u64> {
        if let Some(rate) = self.control.pacing_rate() {
            return Some(rate);
        }
        let slow_start = self.cwnd < self.ssthresh / 2;
        let flight = self.cwnd.max(context.seq.outstanding());
        context
            .rtt
            .srtt()
            .map(|srtt| rate(flight, srtt, slow_start))
    }

    /// Returns how many segments the kernel hands over together, at least `least`: about a
    /// millisecond's worth at its pacing rate (`tcp_tso_autosize`).
    pub(super) fn burst(&self, least: u64, context: &Context<'_>) -> usize {
        let least = self.control.least_burst().unwrap_or(least);
        let Some(rate) = self.rate(context) else {
            return least as usize;
        };
        let octets = (rate >> 10).min(MOST_IN_A_BURST);
        // At least two must be in flight (`tcp_cwnd_test`).
        let mss = u64::from(context.mss);
        let half = (self.cwnd / mss / 2).max(1);
        (octets / mss).max(least).min(half) as usize
    }

    /// Begins a burst: what leaves in one pass is handed to the device together.
    #[inline]
    pub(super) fn begin_burst(&mut self) {
        if let Some(pacer) = &mut self.pacer {
            pacer.begin_burst();
        }
    }

    /// Returns whether a segment may leave now by the pacing rate; if so, counts it as leaving.
    pub(super) fn leaves_by_rate(&mut self, departure: &Departure, context: &Context<'_>) -> bool {
        let burst = self.burst(departure.least_burst, context);
        let rate = self.rate(context);
        let Some(pacer) = &mut self.pacer else {
            return true;
        };
        pacer.lets_leave(departure, burst, rate, context.now)
    }

    /// Returns when what waits for its turn by the pacing rate may leave.
    #[inline]
    pub(super) fn paced_until(&self) -> Option<Instant> {
        match &self.pacer {
            Some(pacer) => pacer.waits_until(),
            None => None,
        }
    }

    /// Returns whether something waits for its turn, by the rate or after an idle period.
    #[inline]
    pub(super) fn delays(&self) -> bool {
        !self.restart.waits_until().is_off() || self.paced_until().is_some()
    }

    /// Clears the waiting marks; the next pass finds out whether anything waits.
    pub(super) fn stop_waiting(&mut self) {
        self.restart.stop_waiting();
        if let Some(pacer) = &mut self.pacer {
            pacer.stop_waiting();
        }
    }

    /// Turns off what delays departures, because the connection is gone.
    pub(super) fn stop(&mut self) {
        self.restart.end_paced_flight();
        self.stop_waiting();
    }
}
