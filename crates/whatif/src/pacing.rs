//! Sockets that let segments leave at a rate: BBR's, or one that a program has set as a bound.

use std::sync::Arc;

use tinygram_engine::sender::congestion::{Ack, Congestion, Control, Installed, Window};

/// The rates of a socket, in octets per second, in the order of time: one for each segment with data that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pacing {
    rates: Arc<[u64]>,
    by_bbr: bool,
}

impl Pacing {
    /// Returns the pacing of a socket that had these rates; `None` if it was not paced in the end.
    #[must_use]
    pub fn of(rates: &[Option<u64>], by_bbr: bool) -> Option<Self> {
        let last_unpaced = rates.iter().rposition(Option::is_none);
        let since = last_unpaced.map_or(0, |index| index + 1);
        let rates: Arc<[u64]> = rates[since..].iter().flatten().copied().collect();
        (!rates.is_empty()).then_some(Self { rates, by_bbr })
    }

    /// Returns whether the rates follow from what is in flight: BBR's do.
    pub(crate) fn follows_the_flight(&self) -> bool {
        self.by_bbr
    }

    /// Returns it with rates that are so many times as high.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let rates = self.rates.iter().map(|rate| (*rate as f64 * factor) as u64);
        Self {
            rates: rates.collect(),
            by_bbr: self.by_bbr,
        }
    }

    /// Returns a congestion control that moves the window as `window` does and has these rates, one after the other with each
    /// acknowledgment, again and again.
    pub(crate) fn control(&self, window: Congestion) -> Congestion {
        Congestion::custom(Paced {
            pacing: self.clone(),
            next: 0,
            window: window.install(),
        })
    }
}

#[derive(Clone, Debug)]
struct Paced {
    pacing: Pacing,
    next: usize,
    window: Installed,
}

impl Paced {
    fn rate(&self) -> u64 {
        self.pacing.rates[self.next % self.pacing.rates.len()]
    }
}

impl Control for Paced {
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        self.next += 1;
        self.window.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: Window<'_>, flight: u64) {
        self.window.on_loss(window, flight);
    }

    fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
        self.window.on_timeout(window, flight);
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.rate())
    }

    fn least_burst(&self) -> Option<u64> {
        let at_slow_rates = self.rate() < SLOW;
        self.pacing
            .by_bbr
            .then_some(if at_slow_rates { 1 } else { 2 })
    }
}

/// Linux, `bbr_min_tso_rate`, 1.2 Mbit/s, in octets per second: below it BBR lets one segment leave at a time, and two from
/// there on (`bbr_min_tso_segs`).
const SLOW: u64 = 150_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_paced_only_at_first_is_not_paced() {
        assert_eq!(Pacing::of(&[], true), None);
        assert_eq!(Pacing::of(&[Some(1), None], true), None);
        let since = Pacing::of(&[Some(1), None, Some(2), Some(3)], true);
        assert_eq!(since, Pacing::of(&[Some(2), Some(3)], true));
    }
}
