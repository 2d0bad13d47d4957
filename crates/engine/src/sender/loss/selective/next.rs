//! What is sent next although it was sent before (RFC 6675, section 4, NextSeg), and the tail loss
//! probe (RFC 8985, section 7).

use super::{Heard, Selective};
use crate::offset::{Offset, Span};
use crate::sender::context::Context;
use crate::sender::loss::report::Report;
use crate::sender::loss::tail_probe::{Met, Outcome, TailProbe, probe_timeout};
use crate::sender::timers::{Early, TimerReason, Timers};
use crate::sender::window::CongestionWindow;

impl Selective {
    /// Returns whether a pass must look at the scoreboard before it looks at new data.
    pub(crate) fn may_resend(&self) -> bool {
        let doubts = self.rack.is_none() && self.phase.is_fast_recovery();
        self.board.has_lost() || doubts
    }

    /// Returns the lowest segment that is deemed lost (NextSeg, rule 1).
    pub(crate) fn first_lost(&self) -> Option<Span> {
        self.board.first_lost()
    }

    /// Returns what to resend by NextSeg's rules 3 and 4 if no new data could be sent, of at most
    /// `cwnd` octets less what the network carries. RACK's reordering timer and the tail loss probe
    /// make these rules needless.
    pub(crate) fn next_doubtful(&mut self, cwnd: u64) -> Option<Span> {
        if self.rack.is_some() || !self.phase.is_fast_recovery() || self.board.has_lost() {
            return None;
        }
        let doubtful = self.board.first_doubtful();
        let rescue = doubtful.is_none() && !self.rescued;
        let span = match rescue {
            true => self.board.last_unsacked(),
            false => doubtful,
        };
        let room = cwnd.saturating_sub(self.board.pipe());
        let span = span.filter(|span| span.len() <= room)?;
        self.rescued |= rescue;
        Some(span)
    }

    /// RFC 8985, section 7.3: returns what a tail loss probe repeats, in segments of `size` octets:
    /// "the highest-sequence segment sent so far", or its end, if it is longer than one segment now.
    pub(crate) fn repeated_by_tail_probe(&mut self, size: u64) -> Option<Span> {
        let last = self.board.last()?;
        let start = last.end.get().saturating_sub(size).max(last.start.get());
        self.board.split_last(Offset::new(start));
        Some(Span::new(Offset::new(start), last.end))
    }

    /// Records that a tail loss probe left.
    pub(crate) fn tail_probe_left(&mut self, probe: TailProbe) {
        self.tail_probe = Some(probe);
    }

    /// RFC 8985, section 7.4: decides what the ACK tells about the probe that is on its way.
    pub(super) fn judge_tail_probe(
        &mut self,
        report: &Report<'_>,
        heard: &Heard,
        window: &mut CongestionWindow,
        context: &Context<'_>,
    ) {
        let Some(probe) = &self.tail_probe else {
            return;
        };
        let met = Met {
            ack: report.ack,
            news: heard.news,
            duplicate_end: heard.duplicate.map(|block| block.end),
        };
        match probe.outcome(&met) {
            Outcome::Pending => {}
            Outcome::NothingLost => self.tail_probe = None,
            Outcome::Repaired => {
                self.tail_probe = None;
                // There was a loss, although no recovery was needed.
                if self.is_open() {
                    self.undo = None;
                    let flight = context.seq.outstanding() + report.acked.released;
                    window.reduce_for_the_pipe(flight, context);
                }
            }
        }
    }

    /// RFC 8985, section 7.2: schedules a probe after the last segment, while nothing indicates a
    /// loss.
    pub(super) fn schedule_tail_probe(&self, timers: &mut Timers, context: &Context<'_>) {
        let wanted = self.rack.is_some()
            && !self.repairs()
            && self.tail_probe.is_none()
            && self.board.sacked_segments() == 0
            && self.board.segments() > 0;
        if !wanted {
            return;
        }
        let alone = self.board.segments() == 1;
        let length = probe_timeout(context.rtt.srtt(), alone, context.rtt.granularity());
        timers.set_early(Some(Early {
            at: timers.before_retransmission(context.now + length),
            reason: TimerReason::TailProbe,
        }));
    }
}
