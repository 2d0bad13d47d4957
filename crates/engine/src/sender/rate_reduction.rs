//! Proportional rate reduction (RFC 9937): in a recovery the window falls with what is delivered, and
//! what was lost does not leave all at once. Its names are the RFC's.

use super::Sender;

/// The memory of one recovery, in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateReduction {
    /// What was in flight when the recovery began.
    recover_fs: u64,
    prr_delivered: u64,
    prr_out: u64,
    /// What had been delivered by the last acknowledgment.
    delivered: u64,
}

impl Sender {
    /// Section 6.1: a recovery begins; `newly` octets were delivered by the ACK that says so.
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

    /// Section 6.2: an ACK in recovery. `safe` says that it advanced SND.UNA and told of no new loss.
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
            // What was delivered may always be replaced, as in Linux (PRR-CRB grants `owed` alone);
            // a safe ACK grants one segment more (PRR-SSRB).
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

    /// So many octets left in the recovery.
    #[inline]
    pub(super) fn count_for_rate_reduction(&mut self, octets: u64) {
        if let Some(selective) = &mut self.selective
            && let Some(reduction) = &mut selective.reduction
        {
            reduction.prr_out += octets;
        }
    }
}
