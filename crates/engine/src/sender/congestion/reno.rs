//! Reno (RFC 5681) with BSD's growth: one segment per ACK, however much it acknowledges.

use super::{Ack, Control, Window};

/// Slow start and congestion avoidance, without a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Control for Reno {
    #[inline]
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        if *window.cwnd >= window.cap {
            return;
        }
        let growth = if *window.cwnd < *window.ssthresh {
            // RFC 5681, section 3.1, equation 2: min(N, SMSS), so that a peer gains nothing by
            // splitting ACKs.
            ack.octets.min(window.mss)
        } else {
            // Equation 3.
            (window.mss * window.mss / *window.cwnd).max(1)
        };
        *window.cwnd = (*window.cwnd + growth).min(window.cap);
    }

    fn on_loss(&mut self, window: Window<'_>, flight: u64) {
        // Equation 4.
        *window.ssthresh = (flight / 2).max(2 * window.mss);
        *window.cwnd = *window.ssthresh;
    }

    fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
        *window.ssthresh = (flight / 2).max(2 * window.mss);
        *window.cwnd = window.mss;
    }
}
