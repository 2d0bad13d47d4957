//! Fast retransmit and fast recovery (RFC 5681, section 3.2, with RFC 6582's partial ACKs).

use super::Sender;
use super::congestion::Control;
use super::loss_view::{LossState, LossView};
use super::resend::Resend;
use crate::offset::Offset;
use crate::time::Duration;

/// The number of duplicate ACKs that means a loss.
const DUPLICATE_THRESHOLD: u32 = 3;

/// The state of a recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    duplicates: u32,
    recovering: bool,
    /// SND.MAX when the last loss was detected. Duplicate ACKs up to there are caused by
    /// retransmissions and show no new loss (RFC 6582, section 3.2, steps 2 and 4, and section 4).
    recover: Offset,
    limited_transmit: u64,
}

impl Recovery {
    /// Returns the octets that limited transmit adds to the window (RFC 3042).
    #[inline]
    pub(super) fn limited_transmit(&self) -> u64 {
        self.limited_transmit
    }

    /// Returns whether nothing seems to be lost or out of order.
    pub(super) fn is_quiet(&self) -> bool {
        !self.recovering && self.duplicates == 0
    }
}

impl Sender {
    pub(super) fn losses_without_scoreboard(&self) -> LossView {
        LossView {
            state: match (self.recovery.recovering, self.rtt.unanswered()) {
                (_, 1..) => LossState::Loss,
                (true, _) => LossState::Recovery,
                (false, _) if self.recovery.duplicates > 0 => LossState::Disorder,
                (false, _) => LossState::Open,
            },
            outstanding: self
                .vars
                .outstanding()
                .div_ceil(u64::from(self.vars.mss.max(1))) as u32,
            ..LossView::default()
        }
    }

    /// Handles an acknowledgment of new data; `echo` says that it echoes a mark.
    #[inline]
    pub(super) fn recover_or_grow(
        &mut self,
        ack: Offset,
        released: u64,
        round_trip: Option<Duration>,
        echo: bool,
    ) {
        if self.path_search.is_some() {
            self.judge_path_probe(ack);
        }
        // Segments that limited transmit counted as delivered do not count twice.
        let early = self.recovery.limited_transmit;
        self.recovery.duplicates = 0;
        self.recovery.limited_transmit = 0;
        if !self.recovery.recovering {
            if echo {
                self.answer_the_mark(self.vars.outstanding() + released);
            } else if released > 0 {
                let mss = u64::from(self.vars.mss);
                let delivered = released.saturating_sub(early).max(mss.min(released));
                self.grow(delivered, round_trip);
            }
        } else if ack >= self.recovery.recover {
            self.leave_recovery();
        } else {
            // RFC 6582, section 3.2, step 3: resend the next hole; deflate by what was
            // acknowledged.
            self.resend.set_wanted(true);
            let mss = u64::from(self.vars.mss);
            let back = if released >= mss { mss } else { 0 };
            self.vars.cwnd = (self.vars.cwnd.saturating_sub(released) + back).max(mss);
        }
    }

    fn leave_recovery(&mut self) {
        let mss = u64::from(self.vars.mss);
        self.recovery.recovering = false;
        // RFC 6582, section 3.2, step 3, full acknowledgment, option 1.
        self.vars.cwnd = self
            .vars
            .ssthresh
            .min(self.vars.outstanding().max(mss) + mss);
    }

    /// Handles a duplicate ACK (RFC 5681, section 2).
    pub(super) fn duplicate_ack(&mut self) {
        if self.recovery.recovering {
            self.vars.cwnd += u64::from(self.vars.mss);
            return;
        }
        self.recovery.duplicates += 1;
        let new_loss = self.vars.una > self.recovery.recover;
        if self.limited_transmit && self.recovery.duplicates < DUPLICATE_THRESHOLD {
            // RFC 3042, section 2: "up to two segments" beyond the window.
            self.recovery.limited_transmit += u64::from(self.vars.mss);
        }
        if self.recovery.duplicates == DUPLICATE_THRESHOLD && new_loss {
            self.resend.set_wanted(true);
            self.rtt.distrust();
            self.counters.fast_retransmits += 1;
            if let Some(probe) = self.path_probe_failed() {
                self.resend.up_to(probe.end);
                return;
            }
            self.path_probe_is_inconclusive();
            self.recovery.recovering = true;
            self.recovery.recover = self.vars.max;
            // RFC 5681, section 3.2, step 2: what limited transmit added "MUST NOT be included".
            let flight = self.vars.outstanding();
            let beyond_the_window = flight.saturating_sub(self.vars.cwnd);
            let flight = flight - beyond_the_window.min(self.recovery.limited_transmit);
            let flight = self.to_reduce(flight);
            let (window, congestion) = self.window();
            congestion.on_loss(window, flight);
            self.ecn.reduced(self.vars.max);
            // RFC 5681, section 3.2, step 3: what the three ACKs stand for has left the network.
            self.vars.cwnd += u64::from(DUPLICATE_THRESHOLD * self.vars.mss);
            self.recovery.limited_transmit = 0;
        }
    }

    /// Handles the expiry of the retransmission timer: goes back to SND.UNA (RFC 6298, section 5;
    /// RFC 5681, equation 4).
    pub(super) fn go_back(&mut self) {
        let flight = self.vars.outstanding();
        self.recovery = Recovery {
            recover: self.vars.max,
            ..Recovery::default()
        };
        self.resend = Resend::default();
        self.rtt.timed_out();
        self.vars.rto = self.rtt.rto();
        self.counters.timeouts += 1;
        self.path_probe_is_inconclusive();
        self.suspect_a_black_hole();
        let mss = u64::from(self.vars.mss);
        if self.vars.una == Offset::SYN {
            // A lost SYN tells nothing about how fast data may leave. So the initial window is one
            // segment (RFC 5681, section 3.1), and slow start ends where it would have ended.
            self.vars.cwnd = mss;
        } else if self.rtt.unanswered() == 1 {
            // If the timeout ends a recovery, an undo restores the state before that recovery.
            if !self.selective.as_ref().is_some_and(|s| s.repairs()) {
                self.remember_for_undo();
            }
            let flight = self.to_reduce(flight);
            let (window, congestion) = self.window();
            congestion.on_timeout(window, flight);
            self.ecn.reduced(self.vars.max);
            self.restart_slow_start();
        } else {
            // "The value of ssthresh is held constant" if a retransmission was lost (section 3.1).
            self.vars.cwnd = mss;
        }
        if self.vars.una > Offset::SYN && self.selective.is_some() {
            self.mark_after_timeout();
        } else {
            self.vars.nxt = self.vars.una;
        }
    }
}
