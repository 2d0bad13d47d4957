//! Losses found and repaired by acknowledgments alone: fast retransmit and fast recovery (RFC 5681,
//! section 3.2, with RFC 6582's partial ACKs).

use super::resend::Resend;
use super::view::{LossState, LossView};
use crate::offset::Offset;
use crate::sender::context::Context;
use crate::sender::path::Path;
use crate::sender::window::{CongestionWindow, Growth};
use crate::time::Duration;

/// The number of duplicate ACKs that means a loss.
const DUPLICATE_THRESHOLD: u32 = 3;

/// The state of a recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByAcks {
    duplicates: u32,
    recovering: bool,
    /// SND.MAX when the last loss was detected. Duplicate ACKs up to there are caused by
    /// retransmissions and show no new loss (RFC 6582, section 3.2, steps 2 and 4, and section 4).
    recover: Offset,
    /// Whether the first two duplicate ACKs let new data leave (RFC 3042).
    transmits_early: bool,
    /// The octets that they add to the window now.
    limited_transmit: u64,
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) ack: Offset,
    /// The octets that left the buffer.
    pub(crate) released: u64,
    pub(crate) round_trip: Option<Duration>,
    /// Whether it echoes a mark.
    pub(crate) echo: bool,
}

impl ByAcks {
    /// Returns the state before anything was sent.
    pub(crate) fn new(limited_transmit: bool) -> Self {
        Self {
            duplicates: 0,
            recovering: false,
            recover: Offset::default(),
            transmits_early: limited_transmit,
            limited_transmit: 0,
        }
    }

    /// Returns the octets that limited transmit adds to the window (RFC 3042).
    #[inline]
    pub(crate) fn limited_transmit(&self) -> u64 {
        self.limited_transmit
    }

    /// Returns whether nothing seems to be lost or out of order.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.recovering && self.duplicates == 0
    }

    /// Returns what is believed about the flight.
    pub(crate) fn view(&self, context: &Context<'_>) -> LossView {
        let octets = context.seq.outstanding();
        LossView {
            state: match (self.recovering, context.rtt.unanswered()) {
                (_, 1..) => LossState::Loss,
                (true, _) => LossState::Recovery,
                (false, _) if self.duplicates > 0 => LossState::Disorder,
                (false, _) => LossState::Open,
            },
            outstanding: octets.div_ceil(u64::from(context.mss.max(1))) as u32,
            ..LossView::default()
        }
    }

    /// Handles an acknowledgment of new data.
    #[inline(always)]
    pub(crate) fn on_progress(
        &mut self,
        progress: &Progress,
        window: &mut CongestionWindow,
        resend: &mut Resend,
        context: &Context<'_>,
    ) {
        let (mss, released) = (u64::from(context.mss), progress.released);
        // Segments that limited transmit counted as delivered do not count twice.
        let early = self.limited_transmit;
        self.duplicates = 0;
        self.limited_transmit = 0;
        if !self.recovering {
            if progress.echo {
                window.answer_a_mark(context.seq.outstanding() + released, context);
            } else if released > 0 {
                let delivered = released.saturating_sub(early).max(mss.min(released));
                let growth = Growth {
                    octets: delivered,
                    in_network: context.seq.outstanding(),
                    round_trip: progress.round_trip,
                };
                window.grow(growth, context);
            }
        } else if progress.ack >= self.recover {
            self.recovering = false;
            // RFC 6582, section 3.2, step 3, full acknowledgment, option 1.
            let flight = context.seq.outstanding().max(mss) + mss;
            window.cwnd = window.ssthresh.min(flight);
        } else {
            // RFC 6582, section 3.2, step 3: resend the next hole; deflate by what was
            // acknowledged.
            resend.set_wanted(true);
            let back = if released >= mss { mss } else { 0 };
            window.cwnd = (window.cwnd.saturating_sub(released) + back).max(mss);
        }
    }

    /// Handles a duplicate ACK (RFC 5681, section 2). Returns whether it shows a loss, so that the
    /// first segment is sent again.
    pub(crate) fn on_duplicate(
        &mut self,
        window: &mut CongestionWindow,
        path: &mut Path,
        resend: &mut Resend,
        context: &Context<'_>,
    ) -> bool {
        let (mss, seq) = (u64::from(context.mss), context.seq);
        if self.recovering {
            window.cwnd += mss;
            return false;
        }
        self.duplicates += 1;
        if self.transmits_early && self.duplicates < DUPLICATE_THRESHOLD {
            // RFC 3042, section 2: "up to two segments" beyond the window.
            self.limited_transmit += mss;
        }
        let new_loss = seq.una > self.recover;
        if self.duplicates != DUPLICATE_THRESHOLD || !new_loss {
            return false;
        }
        resend.set_wanted(true);
        if let Some(probe) = path.probe_failed(Some(seq.una)) {
            resend.up_to(probe.end);
            return true;
        }
        path.probe_is_inconclusive();
        self.recovering = true;
        self.recover = seq.max;
        // RFC 5681, section 3.2, step 2: what limited transmit added "MUST NOT be included".
        let flight = seq.outstanding();
        let beyond_the_window = flight.saturating_sub(window.cwnd);
        window.reduce(
            flight - beyond_the_window.min(self.limited_transmit),
            context,
        );
        // RFC 5681, section 3.2, step 3: what the three ACKs stand for has left the network.
        window.cwnd += u64::from(DUPLICATE_THRESHOLD) * mss;
        self.limited_transmit = 0;
        true
    }

    /// Handles the expiry of the retransmission timer, when `max` is SND.MAX.
    pub(crate) fn on_timeout(&mut self, max: Offset) {
        *self = Self {
            recover: max,
            ..Self::new(self.transmits_early)
        };
    }
}
