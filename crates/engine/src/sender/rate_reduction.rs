//! Proportional rate reduction (RFC 9937): during recovery the window falls in proportion to what
//! is delivered, so that lost data does not leave all at once. Names are the RFC's.

use super::Sender;

/// The state of one recovery, in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateReduction {
    /// The octets in flight when the recovery began.
    recover_fs: u64,
    prr_delivered: u64,
    prr_out: u64,
    /// The octets delivered up to the last acknowledgment.
    delivered: u64,
}

impl Sender {
    /// Section 6.1: begins a recovery. `delivered_before` is what was delivered before the ACK that
    /// begins it.
    pub(super) fn begin_rate_reduction(&mut self, delivered_before: u64) {
        let Some(selective) = &mut self.selective else {
            return;
        };
        if !selective.reduces_by_rate {
            return;
        }
        let flight = self.vars.outstanding();
        selective.reduction = Some(RateReduction {
            recover_fs: flight.max(1),
            delivered: delivered_before,
            ..RateReduction::default()
        });
    }

    /// Section 6.2: handles an ACK during recovery. `safe` says that it advanced SND.UNA and showed
    /// no new loss.
    pub(super) fn reduce_by_rate(&mut self, safe: bool) {
        let mss = u64::from(self.vars.mss);
        let ssthresh = self.vars.ssthresh;
        let Some(selective) = &mut self.selective else {
            return;
        };
        let (pipe, total) = (selective.board.pipe(), selective.board.delivered());
        let Some(reduction) = &mut selective.reduction else {
            return;
        };
        let delivered = total - reduction.delivered;
        reduction.delivered = total;
        if delivered == 0 {
            return;
        }
        reduction.prr_delivered += delivered;
        let budget = if pipe > ssthresh {
            let share = u128::from(reduction.prr_delivered) * u128::from(ssthresh);
            let share = share.div_ceil(reduction.recover_fs.into()) as u64;
            share.saturating_sub(reduction.prr_out)
        } else {
            let owed = reduction.prr_delivered.saturating_sub(reduction.prr_out);
            // What was delivered may always be replaced, as on Linux (PRR-CRB grants `owed` alone);
            // a safe ACK grants one more segment (PRR-SSRB).
            let bound = owed.max(delivered) + if safe { mss } else { 0 };
            bound.min(ssthresh - pipe)
        };
        // "Force a fast retransmit upon entering recovery."
        let budget = match reduction.prr_out {
            0 => budget.max(mss),
            _ => budget,
        };
        self.vars.cwnd = pipe + budget;
    }

    /// Counts octets that left during the recovery.
    #[inline]
    pub(super) fn count_for_rate_reduction(&mut self, octets: u64) {
        if let Some(selective) = &mut self.selective
            && let Some(reduction) = &mut selective.reduction
        {
            reduction.prr_out += octets;
        }
    }
}
