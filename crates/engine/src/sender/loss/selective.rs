//! Loss recovery with the scoreboard (RFC 6675, with RFC 8985's loss detection if the profile has
//! it). Without SACK, [`super::by_acks`] does what acknowledgments alone allow.

mod heard;
mod next;
mod phase;
mod reductions;

use alloc::boxed::Box;

use super::rack::{Rack, Standing};
use super::rate_reduction::RateReduction;
use super::report::Report;
use super::resend::Resend;
use super::scoreboard::{Judged, Scoreboard};
use super::tail_probe::TailProbe;
use super::undo::{Frto, Undo};
use super::view::{LossState, LossView};
use crate::extensions::{LossDetection, Sack};
use crate::offset::{Offset, Span};
use crate::sender::context::Context;
use crate::sender::counters::Counters;
use crate::sender::path::Path;
use crate::sender::timers::{Early, TimerReason, Timers};
use crate::sender::window::{CongestionWindow, Growth};
use crate::time::Instant;
use heard::Heard;
use phase::Phase;

/// The number of SACKed segments above a segment that indicates its loss (RFC 6675, section 2).
const DUP_THRESH: u32 = 3;

/// The state of a sender whose peer sends SACK blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selective {
    board: Scoreboard,
    /// RACK; without it, RFC 6675's `IsLost` detects losses.
    rack: Option<Rack>,
    /// The tail loss probe that is on its way.
    tail_probe: Option<TailProbe>,
    phase: Phase,
    /// RescueRxt: whether a rescue retransmission has left in this recovery (RFC 6675, section 4,
    /// rule 4).
    rescued: bool,
    /// Whether recoveries reduce the window by RFC 9937, and the state of the present one.
    reduces_by_rate: bool,
    reduction: Option<RateReduction>,
    /// Whether needless reductions are undone, and the state for it.
    undoes: bool,
    undo: Option<Box<Undo>>,
    /// Whether timeouts are examined by F-RTO, and its state.
    examines_timeouts: bool,
    frto: Frto,
    /// Whether the congestion window counts segments, however short they are.
    counts_segments: bool,
}

/// What loss recovery changes besides its own state.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    pub(crate) window: &'a mut CongestionWindow,
    pub(crate) path: &'a mut Path,
    pub(crate) timers: &'a mut Timers,
    pub(crate) resend: &'a mut Resend,
    pub(crate) counters: &'a mut Counters,
}

/// The state before an acknowledgment.
#[derive(Clone, Copy, Debug)]
struct Before {
    phase: Phase,
    delivered: u64,
    lost_segments: u32,
}

impl Selective {
    pub(crate) fn new(sack: &Sack) -> Self {
        Self {
            rack: match sack.detection {
                LossDetection::Counting => None,
                LossDetection::RackTlp => Some(Rack::default()),
            },
            reduces_by_rate: sack.rate_reduction,
            undoes: sack.undo.is_some(),
            examines_timeouts: sack.undo.is_some_and(|undo| undo.frto),
            counts_segments: sack.counts_segments,
            ..Self::default()
        }
    }

    /// Returns the octets that the network is believed to carry.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.board.pipe()
    }

    /// Returns the octets that may still leave with the window `cwnd`, in octets (RFC 6675, section 5,
    /// step C: cwnd bounds what the network carries).
    #[inline]
    pub(crate) fn room(&self, cwnd: u64, mss: u32) -> u64 {
        let room = cwnd.saturating_sub(self.board.pipe());
        match self.counts_segments {
            true => room - room % u64::from(mss.max(1)),
            false => room,
        }
    }

    /// Returns whether everything in flight is believed to arrive in order.
    pub(crate) fn arrives_in_order(&self) -> bool {
        self.is_open() && self.board.sacked_segments() == 0
    }

    /// Returns when the first segment left that `ack` acknowledges, if none was sent twice.
    pub(crate) fn first_left(&self, ack: Offset) -> Option<Instant> {
        self.board.first_left(ack)
    }

    /// Returns whether a loss is being repaired.
    pub(crate) fn repairs(&self) -> bool {
        self.phase.repairs()
    }

    /// Returns what is believed about the flight.
    pub(crate) fn view(&self) -> LossView {
        let board = &self.board;
        let sacked = board.sacked_segments();
        LossView {
            state: match self.phase {
                Phase::Open if sacked > 0 => LossState::Disorder,
                Phase::Open => LossState::Open,
                Phase::Reducing(_) => LossState::Reducing,
                Phase::FastRecovery(_) => LossState::Recovery,
                Phase::AfterTimeout(_) | Phase::Resegmenting(_) => LossState::Loss,
            },
            outstanding: board.segments() as u32,
            sacked,
            lost: board.lost_segments(),
            retransmitted: self.resent_in_flight() as u32,
            reordering: self.rack.as_ref().map_or(0, Rack::reordering),
            reorderings: self.rack.as_ref().map_or(0, Rack::reorderings),
            min_rtt: self.rack.as_ref().and_then(Rack::min_rtt),
        }
    }

    /// Records that `span`, which was never sent before, left with `octets` of data.
    pub(crate) fn sent(&mut self, span: Span, octets: u64, timers: &mut Timers, at: &Context<'_>) {
        if self.counts_segments {
            self.board.count_at_least(at.mss);
        }
        self.board.sent(span, at.now);
        self.schedule_tail_probe(timers, at);
        self.count_for_rate_reduction(octets.max(self.board.least()));
    }

    /// Records that `span` left again with `octets` of data.
    pub(crate) fn sent_again(&mut self, span: Span, octets: u64, context: &Context<'_>) {
        if let Some(undo) = &mut self.undo {
            undo.resent(span, context);
        }
        self.board.sent_again(span, context.now);
        self.count_for_rate_reduction(octets.max(self.board.least()));
    }

    /// Handles an acceptable ACK; what it acknowledges has left the buffer.
    #[inline(never)] // the way without a scoreboard stays short
    pub(crate) fn on_ack(&mut self, report: &Report<'_>, mut reach: Reach<'_>, at: &Context<'_>) {
        if report.acked.advanced {
            reach.timers.set_early(None);
        }
        let before = Before {
            phase: self.phase,
            delivered: self.board.delivered(),
            lost_segments: self.board.lost_segments(),
        };
        let heard = self.mark_delivered(report, at);
        if let Some(size) = reach.path.judge_probe(report.ack) {
            reach.window.initial_holds(size);
        }
        let context = &Context {
            mss: reach.path.mss,
            ..*at
        };
        if let (Some(duplicate), Some(undo)) = (heard.duplicate, &mut self.undo) {
            undo.reported(duplicate, context.mss);
        }
        // RFC 4015, section 3.2, step 0: a mark reports congestion in any case.
        let needless = !report.marked && self.is_needless(report, heard.evidence, context);
        let undone = needless && self.undo(&mut reach);
        let over = self.leave_if_over(report.ack);
        if over && before.phase.reduces() && !undone {
            // RFC 6675, section 5, step (A): continue with the window that recovery ended with.
            reach.window.cwnd = match self.reduction.take() {
                // RFC 9937, section 6.2: "at the end of recovery, set cwnd to ssthresh".
                Some(_) => reach.window.ssthresh,
                None => reach.window.cwnd.min(reach.window.ssthresh),
            };
        }
        self.judge_tail_probe(report, &heard, reach.window, context);
        self.look_for_losses(&mut reach, context);
        if report.marked && self.phase.heeds_a_mark() {
            self.begin_reducing(report.acked.released, reach.window, context);
        }
        self.move_window(&before, over, report, &heard, reach.window, context);
        if self.frto != Frto::Off && self.follow_frto(report, heard.evidence, context) {
            reach.resend.set_wanted(false);
        }
        if report.acked.advanced {
            self.schedule_tail_probe(reach.timers, context);
        }
    }

    /// Lets the window follow what was delivered: it falls while it is being reduced, and grows
    /// otherwise. `over` says that a phase ended with this acknowledgment.
    fn move_window(
        &mut self,
        before: &Before,
        over: bool,
        report: &Report<'_>,
        heard: &Heard,
        window: &mut CongestionWindow,
        context: &Context<'_>,
    ) {
        if self.phase.reduces() {
            if !before.phase.reduces() || over {
                self.begin_rate_reduction(before.delivered, context);
            }
            let no_new_loss = self.board.lost_segments() <= before.lost_segments;
            self.reduce_by_rate(report.acked.advanced && no_new_loss, window, context);
        } else if !before.phase.reduces() {
            // SACKed data was counted as delivered when it was SACKed; a window does not grow for
            // it twice (Linux: `acked_sacked`).
            let delivered = self.board.delivered() - before.delivered;
            let growth = match self.expects_reordering(context.mss) || self.counts_segments {
                true => delivered,
                false => delivered.min(report.acked.released),
            };
            let in_network = match self.counts_segments {
                true => self.board.pipe(),
                false => context.seq.outstanding(),
            };
            if growth > 0 {
                let growth = Growth {
                    octets: growth,
                    in_network,
                    round_trip: heard.round_trip,
                };
                window.grow(growth, context);
            }
        }
    }

    /// Returns whether segments out of order are likely late rather than lost on this path. Then
    /// SACKed data lets the window grow, too (Linux: `tcp_may_raise_cwnd`).
    fn expects_reordering(&self, mss: u32) -> bool {
        let usual = u64::from(DUP_THRESH * mss);
        let rack = self.rack.as_ref();
        rack.is_some_and(|rack| rack.reordering() > usual)
    }

    fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Ends the phase, with its state, if `ack` completes it.
    fn leave_if_over(&mut self, ack: Offset) -> bool {
        let over = self.phase.ends_with(ack);
        if over {
            let repaired = self.phase.repairs();
            self.phase = Phase::Open;
            self.rescued = false;
            if let Some(rack) = self.rack.as_mut().filter(|_| repaired) {
                rack.recovery_ended();
            }
        }
        over
    }

    fn standing(&self, context: &Context<'_>) -> Standing {
        Standing {
            now: context.now,
            srtt: context.rtt.srtt(),
            in_recovery: self.phase.repairs(),
        }
    }

    /// RFC 3168, section 6.1.2: reduces the window for a mark as for a loss.
    fn begin_reducing(
        &mut self,
        released: u64,
        window: &mut CongestionWindow,
        context: &Context<'_>,
    ) {
        self.undo = None;
        window.reduce_for_the_pipe(context.seq.outstanding() + released, context);
        let max = context.seq.max;
        self.phase = match self.phase.repairs() {
            true => Phase::FastRecovery(max),
            false => Phase::Reducing(max),
        };
    }

    /// Handles the reordering timer: what was late is lost. Nothing was delivered then, yet a
    /// segment must leave (Linux: `tcp_rack_reo_timeout`).
    pub(crate) fn on_reordering_timer(&mut self, mut reach: Reach<'_>, context: &Context<'_>) {
        let before = self.phase;
        self.look_for_losses(&mut reach, context);
        if !before.reduces() && self.phase.reduces() {
            let mss = u64::from(context.mss);
            self.begin_rate_reduction(self.board.delivered().saturating_sub(mss), context);
            self.reduce_by_rate(false, reach.window, context);
        }
    }

    /// Marks what must be deemed lost by now, and begins recovery if there is any.
    fn look_for_losses(&mut self, reach: &mut Reach<'_>, context: &Context<'_>) {
        let standing = self.standing(context);
        let board = &mut self.board;
        let lost_before = board.lost_segments();
        let suspicious = board.sacked_segments() > 0 || self.phase.repairs();
        if suspicious {
            let again = match &self.rack {
                Some(rack) => rack.detect_loss(board, &standing),
                None => {
                    mark_by_dup_thresh(board, context.mss.into());
                    None
                }
            };
            // A host's timer is no finer than its clock.
            let tick = context.rtt.granularity();
            reach.timers.set_early(again.map(|at| Early {
                at: at + tick,
                reason: TimerReason::Reordering,
            }));
        }
        let begins = match self.phase {
            // What is lost now was not too large for the path.
            Phase::Resegmenting(_) => board.lost_segments() > lost_before,
            phase => board.has_lost() && !phase.repairs(),
        };
        if begins {
            reach.counters.fast_retransmits += 1;
            match reach.path.probe_failed(self.only_loss()) {
                Some(_) => self.resegment(context.seq.max),
                None => self.recover(reach.window, context),
            }
        }
        reach.resend.set_wanted(self.may_resend());
        if begins {
            reach.resend.force_one();
        }
    }

    /// Returns the start of the only segment that is deemed lost, if no other loss is being repaired.
    fn only_loss(&self) -> Option<Offset> {
        let alone = self.is_open() && self.board.lost_segments() == 1;
        let lost = self.board.first_lost().filter(|_| alone);
        lost.map(|span| span.start)
    }

    /// Marks what is longer than `mss` octets as lost, because the path does not take it, and begins
    /// to send it again.
    pub(crate) fn path_shrank(&mut self, mss: u32, max: Offset) {
        self.board.judge(
            |t| match t.span.len() > u64::from(mss) && !t.sacked && !t.lost {
                true => Judged::Lost,
                false => Judged::InFlight,
            },
        );
        self.resegment(max);
    }

    /// Begins to send what was too large for the path, and is marked as lost, in smaller segments,
    /// unless another loss is being repaired.
    fn resegment(&mut self, max: Offset) {
        if self.is_open() && self.board.has_lost() {
            self.phase = Phase::Resegmenting(max);
            self.tail_probe = None;
            self.undo = None;
        }
    }

    /// Begins fast recovery.
    fn recover(&mut self, window: &mut CongestionWindow, context: &Context<'_>) {
        // A window that is being reduced is not reduced twice in a round trip.
        let reducing = self.phase.reduces();
        self.phase = Phase::FastRecovery(context.seq.max);
        // TLP.end_seq = None: the purpose of the probe is fulfilled (RFC 8985, section 7.3).
        self.tail_probe = None;
        if reducing {
            self.undo = None;
        } else {
            self.remember_for_undo(window, context);
            window.reduce_for_the_pipe(context.seq.outstanding(), context);
        }
    }

    /// Handles the expiry of the retransmission timer (RFC 8985, section 6.3; RFC 6675, section
    /// 5.1).
    pub(crate) fn on_timeout(&mut self, context: &Context<'_>) {
        let standing = self.standing(context);
        let repeated = context.rtt.unanswered() > 1;
        // RFC 5682, section 3.1, step 1: not during another recovery.
        self.frto = match self.examines_timeouts && (repeated || !self.repairs()) {
            true => Frto::Resent,
            false => Frto::Off,
        };
        self.board.mistrust_a_reneging_peer();
        match &self.rack {
            Some(rack) => rack.timed_out(&mut self.board, context.seq.una, &standing),
            None => self.board.judge(|_| Judged::Lost),
        }
        self.phase = Phase::AfterTimeout(context.seq.max);
        self.reduction = None;
        self.tail_probe = None;
        self.rescued = false;
    }
}

/// RFC 6675, section 4, `IsLost`: marks a segment as lost if three segments, or more octets than
/// two full ones have, were SACKed above it. A retransmission that is lost again is left to the
/// timeout.
fn mark_by_dup_thresh(board: &mut Scoreboard, mss: u64) {
    let (mut segments, mut octets) = (0, 0);
    let doomed_below = board.iter().rev().find_map(|t| {
        if t.sacked {
            segments += 1;
            octets += t.span.len();
        }
        let lost = segments >= DUP_THRESH || octets > u64::from(DUP_THRESH - 1) * mss;
        lost.then_some(t.span.start)
    });
    let Some(limit) = doomed_below else {
        return;
    };
    board.judge(|t| match t.span.start < limit {
        true if t.retransmitted => Judged::InFlight,
        true => Judged::Lost,
        false => Judged::Enough,
    });
}

#[cfg(test)]
mod tests;
