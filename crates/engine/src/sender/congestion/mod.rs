//! Congestion control: how the shared variables `cwnd` and `ssthresh` move (RFC 5681).
//!
//! The sender owns the variables; an algorithm changes them through [`Window`] and keeps only what
//! is its own.

mod reno;
pub mod restart;

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

/// What an algorithm must answer.
pub trait Control {
    /// `acked` octets were newly acknowledged outside of recovery.
    fn on_ack(&mut self, window: Window<'_>, acked: u64);
    /// Three duplicate ACKs arrived with `flight` octets outstanding.
    fn on_loss(&mut self, window: Window<'_>, flight: u64);
    /// The retransmission timer expired with `flight` octets outstanding.
    fn on_timeout(&mut self, window: Window<'_>, flight: u64);
}

/// The algorithms, one file each.
#[derive(Clone, Copy, Debug)]
pub enum Congestion {
    /// RFC 5681 as BSD has it.
    Reno(Reno),
}

impl Control for Congestion {
    #[inline]
    fn on_ack(&mut self, window: Window<'_>, acked: u64) {
        match self {
            Self::Reno(reno) => reno.on_ack(window, acked),
        }
    }

    fn on_loss(&mut self, window: Window<'_>, flight: u64) {
        match self {
            Self::Reno(reno) => reno.on_loss(window, flight),
        }
    }

    fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
        match self {
            Self::Reno(reno) => reno.on_timeout(window, flight),
        }
    }
}
