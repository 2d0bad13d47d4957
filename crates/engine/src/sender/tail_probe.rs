//! The tail loss probe. If the last segments of a flight are lost, only a timeout would show it. A
//! probe after two round trips causes an ACK that shows it earlier (RFC 8985, section 7).

use super::send_policy::Because;
use super::timers::{Early, TimerReason};
use super::{Sender, Stamp};
use crate::offset::{Offset, Span};
use crate::outbox::Outbox;
use crate::time::{Duration, Instant};

/// How long the peer may delay the ACK of a single segment (section 7.2; Linux: TCP_RTO_MIN).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The timeout of the probe before anything was measured (section 7.2).
const WITHOUT_SRTT: Duration = Duration::from_secs(1);

/// TLP.end_seq and TLP.is_retrans of a probe that is on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct TailProbe {
    /// SND.NXT when it left.
    pub(super) end_seq: Offset,
    /// Whether it repeated a segment.
    pub(super) is_retrans: bool,
}

/// What an ACK tells about the probe on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing yet.
    Pending,
    /// Nothing was lost.
    NothingLost,
    /// The probe repaired the loss of the last segment.
    Repaired,
}

/// The contents of an ACK that matter to a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Met {
    pub(super) ack: Offset,
    /// Whether it acknowledged or SACKed something new.
    pub(super) news: bool,
    /// The end of a range that a DSACK reports as received twice.
    pub(super) duplicate_end: Option<Offset>,
}

impl TailProbe {
    /// Section 7.4.2 (TLP_process_ack).
    pub(super) fn outcome(&self, met: &Met) -> Outcome {
        if met.ack < self.end_seq {
            return Outcome::Pending;
        }
        if !self.is_retrans || met.duplicate_end == Some(self.end_seq) {
            return Outcome::NothingLost;
        }
        if met.ack > self.end_seq {
            return Outcome::Repaired;
        }
        if !met.news {
            // A duplicate ACK without SACK: both copies arrived.
            return Outcome::NothingLost;
        }
        Outcome::Pending
    }
}

impl Sender {
    /// RFC 8985, section 7.4: decides what the ACK, which took `released` octets out of the flight,
    /// tells about the probe that is on its way.
    pub(super) fn judge_tail_probe(&mut self, met: &Met, released: u64) {
        let Some(selective) = &mut self.selective else {
            return;
        };
        let Some(probe) = &selective.tail_probe else {
            return;
        };
        match probe.outcome(met) {
            Outcome::Pending => {}
            Outcome::NothingLost => selective.tail_probe = None,
            Outcome::Repaired => {
                selective.tail_probe = None;
                // There was a loss, although no recovery was needed.
                if selective.is_open() {
                    self.forget_undo();
                    self.reduce_window(self.vars.outstanding() + released);
                }
            }
        }
    }

    /// RFC 8985, section 7.2: schedules a probe after the last segment, while nothing indicates a
    /// loss.
    pub(super) fn schedule_tail_probe(&mut self) {
        let Some(selective) = &self.selective else {
            return;
        };
        let wanted = selective.rack.is_some()
            && !selective.repairs()
            && selective.tail_probe.is_none()
            && selective.board.sacked_segments() == 0
            && selective.board.segments() > 0;
        if !wanted {
            return;
        }
        let alone = selective.board.segments() == 1;
        let length = probe_timeout(self.rtt.srtt(), alone, self.rtt.granularity());
        self.timers.set_early(Some(Early {
            at: self.timers.before_retransmission(self.vars.now + length),
            reason: TimerReason::TailProbe,
        }));
    }

    /// RFC 8985, section 7.3: sends the probe: new data if there is any, otherwise the last segment
    /// again.
    pub(crate) fn tail_probe(&mut self, now: Instant, stamp: &Stamp, out: &mut Outbox) {
        self.vars.now = now;
        let room = self
            .vars
            .wnd
            .saturating_sub(self.vars.nxt.since(self.vars.una));
        let unsent = self.vars.written.since(self.vars.nxt);
        let len = unsent.min(room).min(u64::from(self.segment_size(stamp)));
        let is_retrans = len == 0;
        let last = self.selective.as_ref().and_then(|s| s.board.last());
        if !is_retrans {
            self.send_one(len as u32, Because::Probe, stamp, out);
        } else if let Some(last) = last {
            // "the highest-sequence segment sent so far": its end, if it is longer than one segment
            // now.
            let size = u64::from(self.segment_size(stamp));
            let start = last.end.get().saturating_sub(size).max(last.start.get());
            if let Some(selective) = &mut self.selective {
                selective.board.split_last(Offset::new(start));
            }
            self.send_again(Span::new(Offset::new(start), last.end), stamp, out);
        }
        self.timers.restart_retransmission(self.vars.now, &self.rtt);
        // Section 7.2: never two probes in a row; new data would have scheduled one.
        self.timers.set_early(None);
        self.counters.tail_probes += 1;
        let end_seq = self.vars.nxt;
        if let Some(selective) = &mut self.selective {
            selective.tail_probe = Some(TailProbe {
                end_seq,
                is_retrans,
            });
        }
    }
}

/// Section 7.2 (TLP_calc_PTO). Linux's tick on top is for round trips below its clock's resolution.
fn probe_timeout(srtt: Option<Duration>, alone: bool, tick: Duration) -> Duration {
    let Some(srtt) = srtt else {
        return WITHOUT_SRTT;
    };
    let delayed = if alone { MAX_ACK_DELAY } else { Duration::ZERO };
    srtt.times(2) + delayed + tick
}
