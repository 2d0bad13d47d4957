//! Congestion control: how the shared variables `cwnd` and `ssthresh` move (RFC 5681).
//!
//! The sender owns the variables; an algorithm changes them through [`Window`] and keeps only what
//! is its own.

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
    /// `cwnd` never grows beyond this.
    pub cap: u64,
}

/// New data was acknowledged outside of recovery.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Octets of data.
    pub octets: u64,
    /// Octets unacknowledged before.
    pub flight: u64,
    /// The time.
    pub now: Instant,
    /// The smoothed round-trip time, once there is one.
    pub srtt: Option<Duration>,
}

/// What an algorithm must answer.
pub trait Control {
    /// An ACK arrived that may let the window grow.
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack);
    /// A loss was noticed without a time-out, with `flight` octets outstanding.
    fn on_loss(&mut self, window: Window<'_>, flight: u64);
    /// The retransmission timer expired with `flight` octets outstanding.
    fn on_timeout(&mut self, window: Window<'_>, flight: u64);
}
