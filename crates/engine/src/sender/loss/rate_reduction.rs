//! Proportional rate reduction (RFC 9937): during recovery the window falls in proportion to what
//! is delivered, so that lost data does not leave all at once. Names are the RFC's.

/// The state of one recovery, in octets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateReduction {
    /// The octets in flight when the recovery began.
    recover_fs: u64,
    prr_delivered: u64,
    prr_out: u64,
    /// The octets delivered up to the last acknowledgment.
    delivered: u64,
}

/// The state of the sender after an ACK during recovery, in octets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// What was delivered so far, to the connection's peer in all.
    pub(crate) delivered: u64,
    pub(crate) pipe: u64,
    pub(crate) ssthresh: u64,
    pub(crate) mss: u64,
    /// Whether the ACK advanced SND.UNA and showed no new loss.
    pub(crate) safe: bool,
}

impl RateReduction {
    /// Section 6.1: begins a recovery with `flight` octets outstanding. `delivered_before` is what was
    /// delivered before the ACK that begins it.
    pub(crate) fn begin(flight: u64, delivered_before: u64) -> Self {
        Self {
            recover_fs: flight.max(1),
            delivered: delivered_before,
            ..Self::default()
        }
    }

    /// Section 6.2: handles an ACK during recovery. Returns the congestion window, if the ACK
    /// delivered anything.
    pub(crate) fn on_ack(&mut self, at: &Delivery) -> Option<u64> {
        let delivered = at.delivered - self.delivered;
        self.delivered = at.delivered;
        if delivered == 0 {
            return None;
        }
        self.prr_delivered += delivered;
        let budget = if at.pipe > at.ssthresh {
            let share = u128::from(self.prr_delivered) * u128::from(at.ssthresh);
            let share = share.div_ceil(self.recover_fs.into()) as u64;
            share.saturating_sub(self.prr_out)
        } else {
            let owed = self.prr_delivered.saturating_sub(self.prr_out);
            // What was delivered may always be replaced, as on Linux (PRR-CRB grants `owed` alone);
            // a safe ACK grants one more segment (PRR-SSRB).
            let bound = owed.max(delivered) + if at.safe { at.mss } else { 0 };
            bound.min(at.ssthresh - at.pipe)
        };
        // "Force a fast retransmit upon entering recovery."
        let budget = match self.prr_out {
            0 => budget.max(at.mss),
            _ => budget,
        };
        Some(at.pipe + budget)
    }

    /// Counts octets that left during the recovery.
    pub(crate) fn sent(&mut self, octets: u64) {
        self.prr_out += octets;
    }
}
