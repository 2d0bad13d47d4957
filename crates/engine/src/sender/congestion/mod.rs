//! Congestion control: how the shared variables `cwnd` and `ssthresh` move (RFC 5681).
//!
//! The sender owns the variables; an algorithm changes them through [`Window`] and keeps only what
//! is its own.

mod cubic;
mod reno;
pub mod restart;

use crate::time::{Duration, Instant};

pub use cubic::Cubic;
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

/// The algorithms, one file each.
#[derive(Clone, Copy, Debug)]
pub enum Congestion {
    /// RFC 5681 as BSD has it.
    Reno(Reno),
    /// RFC 9438.
    Cubic(Cubic),
}

impl Congestion {
    /// The names that can be typed.
    pub const NAMES: [&str; 2] = ["reno", "cubic"];

    /// The algorithm with this name, whatever the case, as a connection begins with it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "reno" => Some(Self::Reno(Reno)),
            "cubic" => Some(Self::Cubic(Cubic::default())),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Reno(_) => "reno",
            Self::Cubic(_) => "cubic",
        }
    }
}

impl Control for Congestion {
    #[inline]
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        match self {
            Self::Reno(reno) => reno.on_ack(window, ack),
            Self::Cubic(cubic) => cubic.on_ack(window, ack),
        }
    }

    fn on_loss(&mut self, window: Window<'_>, flight: u64) {
        match self {
            Self::Reno(reno) => reno.on_loss(window, flight),
            Self::Cubic(cubic) => cubic.on_loss(window, flight),
        }
    }

    fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
        match self {
            Self::Reno(reno) => reno.on_timeout(window, flight),
            Self::Cubic(cubic) => cubic.on_timeout(window, flight),
        }
    }
}
