//! A congestion control algorithm that a user of the library defines.

use super::{Ack, Control, Window};
use crate::registry::custom;

custom! {
    /// A congestion control algorithm that a user of the library defines. Every connection has its
    /// own copy, memory included.
    ///
    /// ```
    /// use tinygram_engine::sender::congestion::{Ack, Congestion, Control, Window};
    ///
    /// /// A window that never moves.
    /// #[derive(Clone, Debug)]
    /// struct Fixed {
    ///     octets: u64,
    /// }
    ///
    /// impl Control for Fixed {
    ///     fn on_ack(&mut self, window: Window<'_>, _: &Ack) {
    ///         *window.cwnd = self.octets.min(window.cap);
    ///     }
    ///
    ///     fn on_loss(&mut self, window: Window<'_>, _: u64) {
    ///         *window.ssthresh = self.octets;
    ///         *window.cwnd = self.octets;
    ///     }
    ///
    ///     fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
    ///         self.on_loss(window, flight);
    ///     }
    /// }
    ///
    /// let control = Congestion::custom(Fixed { octets: 20_000 });
    /// assert_eq!(control.to_string(), "custom");
    /// ```
    Control
}

impl Control for Custom {
    fn name(&self) -> &str {
        self.own_name()
    }

    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        self.0.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: Window<'_>, flight: u64) {
        self.0.on_loss(window, flight);
    }

    fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
        self.0.on_timeout(window, flight);
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.0.pacing_rate()
    }

    fn least_burst(&self) -> Option<u64> {
        self.0.least_burst()
    }
}
