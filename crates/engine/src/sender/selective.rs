//! Loss recovery with the scoreboard (RFC 6675, with RFC 8985's loss detection if the profile has
//! it). Without SACK, [`super::recovery`] does what acknowledgments alone allow.

use super::congestion::Control;
use super::loss_view::{LossState, LossView};
use super::rack::{Rack, Standing};
use super::rate_reduction::RateReduction;
use super::report::Report;
use super::scoreboard::{Judged, Scoreboard};
use super::tail_probe::{Met, TailProbe};
use super::timers::{Early, TimerReason};
use super::undo::{Evidence, Frto, Undo};
use super::{Sender, Stamp};
use alloc::boxed::Box;

use crate::extensions::Extensions;
use crate::offset::{Offset, Span};
use crate::options::SackBlocks;
use crate::outbox::Outbox;
use crate::time::Duration;

/// The number of SACKed segments above a segment that indicates its loss (RFC 6675, section 2).
const DUP_THRESH: u32 = 3;

/// The state of a sender whose peer sends SACK blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Selective {
    pub(super) board: Scoreboard,
    /// RACK; without it, RFC 6675's `IsLost` detects losses.
    pub(super) rack: Option<Rack>,
    /// The tail loss probe that is on its way.
    pub(super) tail_probe: Option<TailProbe>,
    phase: Phase,
    /// RescueRxt: whether a rescue retransmission has left in this recovery (RFC 6675, section 4,
    /// rule 4).
    rescued: bool,
    /// Whether recoveries reduce the window by RFC 9937, and the state of the present one.
    pub(super) reduces_by_rate: bool,
    pub(super) reduction: Option<RateReduction>,
    /// Whether needless reductions are undone, and the state for it.
    pub(super) undoes: bool,
    pub(super) undo: Option<Box<Undo>>,
    /// Whether timeouts are examined by F-RTO, and its state.
    examines_timeouts: bool,
    pub(super) frto: Frto,
}

/// The phase of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// The window is being reduced for a mark, until this offset is acknowledged (RFC 3168; Linux:
    /// CWR).
    Reducing(Offset),
    /// Fast recovery, until this offset is acknowledged (RecoveryPoint).
    FastRecovery(Offset),
    /// After a timeout, until all that was sent before it is acknowledged.
    AfterTimeout(Offset),
    /// What was too large for the path is being sent again in smaller segments, until this offset is
    /// acknowledged; the window stays (RFC 1191, section 6.5; RFC 4821, section 7.6.2; Linux:
    /// `tcp_simple_retransmit`). Another loss, or a mark, does reduce it.
    Resegmenting(Offset),
}

impl Phase {
    /// Returns whether something lost is being resent.
    fn repairs(self) -> bool {
        matches!(
            self,
            Self::FastRecovery(_) | Self::AfterTimeout(_) | Self::Resegmenting(_)
        )
    }

    /// Returns whether the window is being reduced, so that it does not grow.
    fn reduces(self) -> bool {
        matches!(self, Self::Reducing(_) | Self::FastRecovery(_))
    }

    /// Returns whether the window has not been reduced in this phase, so that a mark reduces it.
    fn heeds_a_mark(self) -> bool {
        matches!(self, Self::Open | Self::Resegmenting(_))
    }

    fn ends_at(self) -> Option<Offset> {
        match self {
            Self::Open => None,
            Self::Reducing(end)
            | Self::FastRecovery(end)
            | Self::AfterTimeout(end)
            | Self::Resegmenting(end) => Some(end),
        }
    }
}

/// What an acknowledgment told about deliveries.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// Whether it acknowledged or SACKed something new.
    news: bool,
    /// The DSACK among its blocks.
    duplicate: Option<Span>,
    /// The round trip of the last segment that it acknowledged, if none of those segments was sent
    /// twice.
    round_trip: Option<Duration>,
    /// What it told about a timeout.
    evidence: Evidence,
}

impl Selective {
    pub(super) fn new(extensions: &Extensions) -> Self {
        Self {
            rack: extensions.rack_tlp.then(Rack::default),
            reduces_by_rate: extensions.rate_reduction,
            undoes: extensions.undo,
            examines_timeouts: extensions.frto,
            ..Self::default()
        }
    }

    /// Returns whether no loss is being repaired and the window is not being reduced.
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Returns whether a loss is being repaired.
    pub(super) fn repairs(&self) -> bool {
        self.phase.repairs()
    }

    /// Returns whether the loss that a timeout indicated is being repaired.
    pub(super) fn after_timeout(&self) -> bool {
        matches!(self.phase, Phase::AfterTimeout(_))
    }

    /// Returns whether the phase ends with what is acknowledged now.
    pub(super) fn ends_with(&self, ack: Offset) -> bool {
        self.phase.ends_at().is_some_and(|end| ack >= end)
    }

    /// Returns the segments that were resent and may be on their way.
    pub(super) fn retransmitted_in_flight(&self) -> u64 {
        let board = self.board.iter();
        board
            .filter(|t| t.retransmitted && !t.sacked && !t.lost)
            .count() as u64
    }

    /// Returns what is believed about the flight.
    pub(super) fn view(&self) -> LossView {
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
            retransmitted: board
                .iter()
                .filter(|t| t.retransmitted && !t.sacked && !t.lost)
                .count() as u32,
            reordering: self.rack.as_ref().map_or(0, Rack::reordering),
            reorderings: self.rack.as_ref().map_or(0, Rack::reorderings),
            min_rtt: self.rack.as_ref().and_then(Rack::min_rtt),
        }
    }

    /// Ends the recovery because nothing was lost.
    pub(super) fn reopen(&mut self) {
        self.board.nothing_is_lost();
        self.phase = Phase::Open;
        self.reduction = None;
        self.rescued = false;
        self.frto = Frto::Off;
    }

    /// Ends the phase, with its state, if `ack` completes it.
    fn leave_if_over(&mut self, ack: Offset) -> bool {
        let over = self.phase.ends_at().is_some_and(|end| ack >= end);
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
}

impl Sender {
    /// Handles an acceptable ACK; what it acknowledges has left the buffer.
    #[inline(never)] // the way without a scoreboard stays short
    pub(super) fn consult_scoreboard(&mut self, report: &Report<'_>) {
        if report.acked.advanced {
            self.timers.set_early(None);
        }
        let before = self.phase();
        let delivered_before = self.delivered();
        let lost_before = self.lost_segments();
        let heard = self.mark_delivered(report);
        self.judge_path_probe(report.ack);
        if let Some(duplicate) = heard.duplicate {
            self.reported_for_undo(duplicate);
        }
        // RFC 4015, section 3.2, step 0: a mark reports congestion in any case.
        let undone = !report.marked && self.undo_if_needless(report, heard.evidence);
        let over = match &mut self.selective {
            Some(selective) => selective.leave_if_over(report.ack),
            None => return,
        };
        if over && before.reduces() && !undone {
            // RFC 6675, section 5, step (A): continue with the window that recovery ended with.
            self.vars.cwnd = match self.selective.as_mut().and_then(|s| s.reduction.take()) {
                // RFC 9937, section 6.2: "at the end of recovery, set cwnd to ssthresh".
                Some(_) => self.vars.ssthresh,
                None => self.vars.cwnd.min(self.vars.ssthresh),
            };
        }
        let met = Met {
            ack: report.ack,
            news: heard.news,
            duplicate_end: heard.duplicate.map(|block| block.end),
        };
        self.judge_tail_probe(&met, report.acked.released);
        self.look_for_losses();
        if report.marked && self.phase().heeds_a_mark() {
            self.begin_reducing(report.acked.released);
        }
        if self.phase().reduces() {
            if !before.reduces() || over {
                self.begin_rate_reduction(delivered_before);
            }
            let safe = report.acked.advanced && self.lost_segments() <= lost_before;
            self.reduce_by_rate(safe);
        }
        let slow_start_or_avoidance = !before.reduces() && !self.phase().reduces();
        if slow_start_or_avoidance {
            // SACKed data was counted as delivered when it was SACKed; a window does not grow for
            // it twice (Linux: `acked_sacked`).
            let delivered = self.delivered() - delivered_before;
            let growth = match self.expects_reordering() || self.counts_segments {
                true => delivered,
                false => delivered.min(report.acked.released),
            };
            if growth > 0 {
                self.grow(growth, heard.round_trip);
            }
        }
        if self.examines_a_timeout() && self.follow_frto(report, heard.evidence) {
            self.resend.set_wanted(false);
        }
        if report.acked.advanced {
            self.schedule_tail_probe();
        }
    }

    fn examines_a_timeout(&self) -> bool {
        let selective = self.selective.as_ref();
        selective.is_some_and(|selective| selective.frto != Frto::Off)
    }

    fn phase(&self) -> Phase {
        self.selective.as_ref().map_or(Phase::Open, |s| s.phase)
    }

    /// Returns whether segments out of order are likely late rather than lost on this path. Then
    /// SACKed data lets the window grow, too (Linux: `tcp_may_raise_cwnd`).
    fn expects_reordering(&self) -> bool {
        let rack = self.selective.as_ref().and_then(|s| s.rack.as_ref());
        let usual = u64::from(DUP_THRESH * self.vars.mss);
        rack.is_some_and(|rack| rack.reordering() > usual)
    }

    fn delivered(&self) -> u64 {
        let selective = self.selective.as_ref();
        selective.map_or(0, |selective| selective.board.delivered())
    }

    fn lost_segments(&self) -> u32 {
        let selective = self.selective.as_ref();
        selective.map_or(0, |selective| selective.board.lost_segments())
    }

    fn standing(&self) -> Standing {
        Standing {
            now: self.vars.now,
            srtt: self.rtt.srtt(),
            in_recovery: self.phase().repairs(),
        }
    }

    /// Marks what was acknowledged and SACKed on the scoreboard.
    fn mark_delivered(&mut self, report: &Report<'_>) -> Heard {
        let (now, una, max) = (self.vars.now, self.vars.una, self.vars.max);
        let Some(selective) = &mut self.selective else {
            return Heard::default();
        };
        let duplicate = duplicate_among(report.blocks, report.ack);
        let mut news = report.acked.advanced;
        let before_timeout = match selective.phase {
            Phase::AfterTimeout(end) if selective.frto != Frto::Off => end,
            _ => Offset::SYN,
        };
        let mut evidence = Evidence::default();
        let Selective { board, rack, .. } = &mut **selective;
        let mut rack = rack.as_mut();
        let echo_age = report.echo_age;
        // Only outstanding data can be SACKed (RFC 5961's caution, applied to blocks).
        let sensible = |block: &Span| block.start >= una && block.end <= max && !block.is_empty();
        // The newest block comes first. Several new blocks at once, because an ACK was lost, are no
        // reordering; so they are entered lowest first.
        let mut blocks = [Span::default(); SackBlocks::MAX];
        let mut known = 0;
        for block in report.blocks.iter().filter(sensible) {
            blocks[known] = block;
            known += 1;
        }
        blocks[..known].sort_unstable_by_key(|block| block.start);
        // What this ACK SACKs does not overtake what it acknowledges.
        let fack = rack.as_ref().map_or(Offset::SYN, |rack| rack.fack());
        // All in one order: the last one determines RACK's round trip (Linux:
        // `tcp_sacktag_write_queue` before `tcp_clean_rtx_queue`).
        for block in &blocks[..known] {
            board.sacked(*block, |segment| {
                news = true;
                evidence.sacked = true;
                evidence.original |= !segment.retransmitted && segment.span.end <= before_timeout;
                if let Some(rack) = &mut rack {
                    let fack = rack.fack();
                    rack.delivered(segment, now, echo_age, fack);
                }
            });
        }
        if let Some(rack) = &mut rack {
            rack.count_reordering();
        }
        let (mut round_trip, mut certain) = (None, true);
        if report.acked.advanced {
            board.acked(report.ack, |segment| {
                round_trip = Some(now.since(segment.sent_at));
                certain &= !segment.retransmitted;
                evidence.original |= !segment.retransmitted && segment.span.end <= before_timeout;
                if let Some(rack) = &mut rack {
                    rack.delivered(segment, now, echo_age, fack);
                }
            });
        }
        if let Some(rack) = &mut rack {
            rack.count_reordering();
        }
        if let Some(rack) = rack
            && duplicate.is_some()
        {
            rack.duplicate_reported(una, self.vars.nxt);
        }
        Heard {
            news,
            duplicate,
            round_trip: round_trip.filter(|_| certain),
            evidence,
        }
    }

    /// Reduces the window after a loss, with `flight` octets outstanding.
    pub(super) fn reduce_window(&mut self, flight: u64) {
        // Data that left beyond the window because segments were SACKed does not count (RFC 6675,
        // section 5, step 4.2).
        let flight = self.to_reduce(flight.min(self.vars.cwnd));
        let (window, congestion) = self.window();
        congestion.on_loss(window, flight);
        self.ecn.reduced(self.vars.max);
        // With the pipe, duplicate ACKs need not inflate the window (RFC 6675, section 5, step
        // 4.2).
        self.vars.cwnd = self.vars.ssthresh;
    }

    /// RFC 3168, section 6.1.2: reduces the window for a mark as for a loss.
    fn begin_reducing(&mut self, released: u64) {
        self.forget_undo();
        self.reduce_window(self.vars.outstanding() + released);
        let max = self.vars.max;
        if let Some(selective) = &mut self.selective {
            selective.phase = match selective.phase.repairs() {
                true => Phase::FastRecovery(max),
                false => Phase::Reducing(max),
            };
        }
    }

    /// Handles the reordering timer: what was late is lost. Nothing was delivered then, yet a
    /// segment must leave (Linux: `tcp_rack_reo_timeout`).
    pub(super) fn look_for_losses_by_time(&mut self) {
        let before = self.phase();
        self.look_for_losses();
        if !before.reduces() && self.phase().reduces() {
            let mss = u64::from(self.vars.mss);
            self.begin_rate_reduction(self.delivered().saturating_sub(mss));
            self.reduce_by_rate(false);
        }
    }

    /// Marks what must be deemed lost by now, and begins recovery if there is any.
    pub(super) fn look_for_losses(&mut self) {
        let standing = self.standing();
        let mss = u64::from(self.vars.mss);
        let Some(selective) = &mut self.selective else {
            return;
        };
        let board = &mut selective.board;
        let lost_before = board.lost_segments();
        let suspicious = board.sacked_segments() > 0 || selective.phase.repairs();
        if suspicious {
            let again = match &selective.rack {
                Some(rack) => rack.detect_loss(board, &standing),
                None => {
                    mark_by_dup_thresh(board, mss);
                    None
                }
            };
            // A host's timer is no finer than its clock.
            let tick = self.rtt.granularity();
            self.timers.set_early(again.map(|at| Early {
                at: at + tick,
                reason: TimerReason::Reordering,
            }));
        }
        let begins = match selective.phase {
            // What is lost now was not too large for the path.
            Phase::Resegmenting(_) => board.lost_segments() > lost_before,
            phase => board.has_lost() && !phase.repairs(),
        };
        if begins && self.path_probe_failed().is_some() {
            self.counters.fast_retransmits += 1;
            self.resegment();
        } else if begins {
            self.recover();
        }
        self.resend.set_wanted(self.may_resend());
        if begins {
            self.resend.force_one();
        }
    }

    /// Begins to send what was too large for the path, and is marked as lost, in smaller segments,
    /// unless another loss is being repaired.
    pub(super) fn resegment(&mut self) {
        let max = self.vars.max;
        if let Some(selective) = &mut self.selective
            && selective.is_open()
            && selective.board.has_lost()
        {
            selective.phase = Phase::Resegmenting(max);
            selective.tail_probe = None;
            self.forget_undo();
        }
    }

    /// Begins fast recovery.
    fn recover(&mut self) {
        if let Some(selective) = &mut self.selective {
            // A window that is being reduced is not reduced twice in a round trip.
            let reducing = selective.phase.reduces();
            selective.phase = Phase::FastRecovery(self.vars.max);
            // TLP.end_seq = None: the purpose of the probe is fulfilled (RFC 8985, section 7.3).
            selective.tail_probe = None;
            self.counters.fast_retransmits += 1;
            match reducing {
                true => self.forget_undo(),
                false => {
                    self.remember_for_undo();
                    self.reduce_window(self.vars.outstanding());
                }
            }
        }
    }

    /// Returns whether a pass must look at the scoreboard before it looks at new data.
    fn may_resend(&self) -> bool {
        self.selective.as_ref().is_some_and(|selective| {
            let doubts =
                selective.rack.is_none() && matches!(selective.phase, Phase::FastRecovery(_));
            selective.board.has_lost() || doubts
        })
    }

    /// Resends what is deemed lost, as far as the window allows (RFC 6675, section 4, NextSeg, rule
    /// 1, and section 5, step C); the first segment of a recovery whatever the window (step 4.3).
    pub(super) fn resend_lost(&mut self, stamp: &Stamp, out: &mut Outbox) {
        while let Some(selective) = &self.selective
            && let Some(span) = selective.board.first_lost()
        {
            let room = self.vars.cwnd.saturating_sub(selective.board.pipe());
            let span = self.cut(span, stamp);
            let forced = self.resend.take_force();
            if !forced && (span.len() > room || !self.leaves_by_rate(span.len() as u32)) {
                return;
            }
            self.send_again(span, stamp, out);
        }
        self.resend.set_wanted(self.may_resend());
    }

    /// Resends by NextSeg's rules 3 and 4 (RFC 6675, section 4) if no new data could be sent.
    /// RACK's reordering timer and the tail loss probe make these rules needless.
    pub(super) fn resend_doubtful(&mut self, stamp: &Stamp, out: &mut Outbox) {
        while let Some(selective) = &mut self.selective
            && selective.rack.is_none()
            && matches!(selective.phase, Phase::FastRecovery(_))
            && !selective.board.has_lost()
        {
            let doubtful = selective.board.first_doubtful();
            let rescue = doubtful.is_none() && !selective.rescued;
            let span = match rescue {
                true => selective.board.last_unsacked(),
                false => doubtful,
            };
            let room = self.vars.cwnd.saturating_sub(selective.board.pipe());
            let Some(span) = span.filter(|span| span.len() <= room) else {
                return;
            };
            selective.rescued |= rescue;
            self.send_again(self.cut(span, stamp), stamp, out);
        }
    }

    /// Returns the part of `span` that one segment can carry.
    fn cut(&self, span: Span, stamp: &Stamp) -> Span {
        let most = u64::from(self.segment_size(stamp));
        // A FIN takes a sequence number and no room.
        let fin = u64::from(span.end > self.vars.written);
        if span.len() - fin <= most {
            return span;
        }
        Span::new(span.start, span.start + most)
    }

    pub(super) fn send_again(&mut self, span: Span, stamp: &Stamp, out: &mut Outbox) {
        self.rtt.distrust();
        self.path_probe_is_inconclusive();
        self.count_for_undo(span);
        if let Some(selective) = &mut self.selective {
            selective.board.sent_again(span, self.vars.now);
        }
        self.emit_again(span, stamp, out);
    }

    /// Handles the expiry of the retransmission timer (RFC 8985, section 6.3; RFC 6675, section
    /// 5.1).
    pub(super) fn mark_after_timeout(&mut self) {
        let (una, max) = (self.vars.una, self.vars.max);
        let standing = self.standing();
        let repeated = self.rtt.unanswered() > 1;
        let Some(selective) = &mut self.selective else {
            return;
        };
        // RFC 5682, section 3.1, step 1: not during another recovery.
        selective.frto = match selective.examines_timeouts && (repeated || !selective.repairs()) {
            true => Frto::Resent,
            false => Frto::Off,
        };
        selective.board.mistrust_a_reneging_peer();
        match &selective.rack {
            Some(rack) => rack.timed_out(&mut selective.board, una, &standing),
            None => selective.board.judge(|_| Judged::Lost),
        }
        selective.phase = Phase::AfterTimeout(max);
        selective.reduction = None;
        selective.tail_probe = None;
        selective.rescued = false;
        self.timers.set_early(None);
        self.resend.set_wanted(true);
        self.resend.force_one();
    }
}

/// RFC 2883, section 4: returns the first block if it is a DSACK: it lies below the acknowledgment,
/// or inside the second block.
fn duplicate_among(blocks: &SackBlocks, ack: Offset) -> Option<Span> {
    let mut blocks = blocks.iter();
    let first = blocks.next()?;
    let inside = blocks
        .next()
        .is_some_and(|second| second.start <= first.start && first.end <= second.end);
    (first.end <= ack || inside).then_some(first)
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
