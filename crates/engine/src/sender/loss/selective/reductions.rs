//! Reductions of the window: in proportion to what is delivered (RFC 9937), and undone if they prove
//! needless.

use alloc::boxed::Box;

use super::{Phase, Reach, Selective};
use crate::sender::context::Context;
use crate::sender::loss::rate_reduction::{Delivery, RateReduction};
use crate::sender::loss::report::Report;
use crate::sender::loss::undo::{Evidence, Frto, Undo};
use crate::sender::window::CongestionWindow;

impl Selective {
    /// Begins a recovery (RFC 9937, section 6.1). `delivered_before` is what was delivered before the
    /// ACK that begins it, in octets.
    pub(super) fn begin_rate_reduction(&mut self, delivered_before: u64, context: &Context<'_>) {
        if self.reduces_by_rate {
            let flight = context.seq.outstanding();
            self.reduction = Some(RateReduction::begin(flight, delivered_before));
        }
    }

    /// Handles an ACK during recovery. `safe` says that it advanced SND.UNA and showed no new loss.
    pub(super) fn reduce_by_rate(
        &mut self,
        safe: bool,
        window: &mut CongestionWindow,
        context: &Context<'_>,
    ) {
        let Some(reduction) = &mut self.reduction else {
            return;
        };
        let delivery = Delivery {
            delivered: self.board.delivered(),
            pipe: self.board.pipe(),
            ssthresh: window.ssthresh,
            mss: context.mss.into(),
            safe,
        };
        if let Some(cwnd) = reduction.on_ack(&delivery) {
            window.cwnd = cwnd;
        }
    }

    /// Counts octets that left during the recovery.
    #[inline]
    pub(super) fn count_for_rate_reduction(&mut self, octets: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent(octets);
        }
    }

    /// Stores the state before the window is reduced for a loss.
    pub(crate) fn remember_for_undo(&mut self, window: &CongestionWindow, context: &Context<'_>) {
        if self.undoes {
            // A tail loss probe may still be under way, and be reported by a DSACK.
            let resent = self.resent_in_flight();
            self.undo = Some(Box::new(Undo::new(window.save(), resent, context)));
        }
    }

    /// Returns the segments that were resent and may be on their way.
    pub(super) fn resent_in_flight(&self) -> u64 {
        let segments = self.board.iter();
        segments
            .filter(|t| t.retransmitted && !t.sacked && !t.lost)
            .count() as u64
    }

    /// Returns whether an ACK proves that the reduction was needless.
    pub(super) fn is_needless(
        &self,
        report: &Report<'_>,
        evidence: Evidence,
        context: &Context<'_>,
    ) -> bool {
        let Some(undo) = &self.undo else {
            return false;
        };
        let late = report.acked.advanced && undo.echo_is_older(context.now, report.echo_age);
        // While other retransmissions are under way, one late segment tells nothing about them
        // (Linux: `tcp_try_undo_partial`).
        let late = match self.phase.is_after_timeout() {
            true => late,
            false => {
                let whole = self.phase.ends_with(report.ack) || !self.repairs();
                late && self.repairs() && (whole || self.resent_in_flight() == 0)
            }
        };
        let by_frto = self.phase.is_after_timeout() && self.frto != Frto::Off && evidence.original;
        late || by_frto || undo.all_were_duplicates()
    }

    /// Undoes the reduction. Returns whether there was anything to undo.
    pub(super) fn undo(&mut self, reach: &mut Reach<'_>) -> bool {
        let Some(undo) = self.undo.take() else {
            return false;
        };
        // If the window has grown since, the algorithm's old memory is outdated.
        let at_once = self.repairs();
        self.board.nothing_is_lost();
        self.phase = Phase::Open;
        self.reduction = None;
        self.rescued = false;
        self.frto = Frto::Off;
        reach.window.restore(undo.into_saved(), at_once);
        reach.resend.set_wanted(false);
        reach.counters.undone_reductions += 1;
        true
    }

    /// Follows F-RTO after a timeout: new data is sent first, to see whether what was sent before
    /// arrives after all. Returns whether what is deemed lost has to wait for that.
    pub(super) fn follow_frto(
        &mut self,
        report: &Report<'_>,
        evidence: Evidence,
        context: &Context<'_>,
    ) -> bool {
        let seq = context.seq;
        let new_data = seq.nxt < seq.written.min(seq.window_end());
        self.frto = match self.phase.is_after_timeout() {
            true => self.frto.follow(report.acked.advanced, evidence, new_data),
            false => Frto::Off,
        };
        self.frto == Frto::Probing
    }
}
