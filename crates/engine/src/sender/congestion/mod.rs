//! Congestion control: how the shared variables `cwnd` and `ssthresh` move (RFC 5681).
//!
//! The sender owns the variables. An algorithm changes them through [`Window`] and owns only its
//! own memory.

mod cubic;
mod custom;
mod registry;
mod reno;
pub mod restart;

use crate::time::{Duration, Instant};

pub use cubic::Cubic;
pub use custom::Custom;
pub use registry::{Congestion, Installed, Registered};
pub use reno::Reno;

/// The variables that an algorithm may move, in octets.
#[derive(Debug)]
pub struct Window<'a> {
    /// The congestion window.
    pub cwnd: &'a mut u64,
    /// The slow start threshold.
    pub ssthresh: &'a mut u64,
    /// The maximum segment size.
    pub mss: u64,
    /// The bound beyond which `cwnd` never grows.
    pub cap: u64,
}

/// An acknowledgment of new data outside of recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Octets of data acknowledged.
    pub octets: u64,
    /// Octets that were unacknowledged before.
    pub flight: u64,
    /// The time.
    pub now: Instant,
    /// The smoothed round-trip time, once there is one.
    pub srtt: Option<Duration>,
}

/// The methods of an algorithm.
pub trait Control {
    /// Returns what tables and traces call a rule of your own; those of the list have the list's names.
    fn name(&self) -> &str {
        "custom"
    }

    /// Handles an ACK that may let the window grow.
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack);
    /// Handles a loss that was detected without a timeout, with `flight` octets outstanding.
    fn on_loss(&mut self, window: Window<'_>, flight: u64);
    /// Handles the expiry of the retransmission timer, with `flight` octets outstanding.
    fn on_timeout(&mut self, window: Window<'_>, flight: u64);

    /// Returns the rate in octets per second at which segments leave where pacing is on, if the algorithm sets one itself
    /// (BBR does); otherwise the window is spread over a round trip.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Returns how many segments at least leave together where pacing is on, if the algorithm has its own number (Linux:
    /// `min_tso_segs`).
    fn least_burst(&self) -> Option<u64> {
        None
    }
}
