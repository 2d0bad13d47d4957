//! Undo of needless window reductions: what was deemed lost had only been late, or the
//! retransmission timer was too quick. Three kinds of evidence show it: an echoed timestamp that is
//! older than the retransmission (RFC 3522, section 3.2); DSACKs for everything that was resent
//! (RFC 3708, section 3.3); and, after a timeout, the arrival of data that was not resent (F-RTO,
//! RFC 5682, section 3.1).
//!
//! The undo restores what RFC 9438, section 4.9, names: the window, the threshold and the
//! algorithm's memory. RFC 4015 would set the window to what is in flight (section 3.2, step 4) and
//! restart the timeout from the late round trip (step 7). Linux does neither, and this sender
//! follows Linux.

use alloc::boxed::Box;

use super::report::Report;
use super::{Sender, congestion};
use crate::offset::{Offset, Span};
use crate::options::Timestamps;
use crate::time::{Duration, Instant};

/// The state before the window was reduced, and what has been reported about the retransmissions
/// since.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    cwnd: u64,
    ssthresh: u64,
    congestion: congestion::Installed,
    /// SND.UNA at that time: DSACKs below it report something else.
    marker: Offset,
    /// When the first retransmission left (RetransmitTS).
    resent_at: Option<Instant>,
    /// Retransmissions that no DSACK has reported yet.
    unreported: u64,
    /// Whether at least one retransmission left.
    any: bool,
}

/// The state of F-RTO after a timeout (RFC 5682, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// F-RTO is off, or the loss was real.
    #[default]
    Off,
    /// Step 2: waiting for the ACK of the first retransmission.
    Resent,
    /// Step 3: new data has left, and its ACK will decide.
    Probing,
}

/// What an ACK told about a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// Whether something was delivered that had been sent only once, before the timeout.
    pub(super) original: bool,
    /// Whether a block SACKed something new.
    pub(super) sacked: bool,
}

impl Undo {
    /// RFC 3522, section 3.2, step 5: returns whether the ACK echoes a timestamp that is older than
    /// RetransmitTS.
    fn echo_is_older(&self, now: Instant, age: Option<Duration>) -> bool {
        let ticks = |time: Instant| time.as_nanos() / Timestamps::TICK.as_nanos();
        let (Some(age), Some(resent_at)) = (age, self.resent_at) else {
            return false;
        };
        age.as_nanos() / Timestamps::TICK.as_nanos() > ticks(now) - ticks(resent_at)
    }

    /// RFC 3708, section 3.3: returns whether DSACKs reported every retransmission.
    fn all_were_duplicates(&self) -> bool {
        self.any && self.unreported == 0
    }
}

impl Sender {
    /// Stores the state before the window is reduced for a loss.
    pub(super) fn remember_for_undo(&mut self) {
        let Some(selective) = &mut self.selective else {
            return;
        };
        if !selective.undoes {
            return;
        }
        // A tail loss probe may still be under way, and be reported by a DSACK.
        let in_flight = selective.retransmitted_in_flight();
        selective.undo = Some(Box::new(Undo {
            cwnd: self.vars.cwnd,
            ssthresh: self.vars.ssthresh,
            congestion: self.congestion.clone(),
            marker: self.vars.una,
            resent_at: None,
            unreported: in_flight,
            any: in_flight > 0,
        }));
    }

    /// Discards that state, because the window was reduced for a reason that stands, such as a
    /// mark.
    pub(super) fn forget_undo(&mut self) {
        if let Some(selective) = &mut self.selective {
            selective.undo = None;
        }
    }

    /// Counts a retransmission.
    pub(super) fn count_for_undo(&mut self, span: Span) {
        let (now, mss) = (self.vars.now, u64::from(self.vars.mss));
        if let Some(selective) = &mut self.selective
            && let Some(undo) = &mut selective.undo
        {
            undo.any = true;
            undo.resent_at.get_or_insert(now);
            undo.unreported += span.len().div_ceil(mss);
        }
    }

    /// Records that a DSACK reports `duplicate` as received twice.
    pub(super) fn reported_for_undo(&mut self, duplicate: Span) {
        let mss = u64::from(self.vars.mss);
        if let Some(selective) = &mut self.selective
            && let Some(undo) = &mut selective.undo
            && duplicate.end > undo.marker
        {
            let segments = duplicate.len().div_ceil(mss);
            undo.unreported = undo.unreported.saturating_sub(segments);
        }
    }

    /// Handles an ACK: undoes the reduction if it proves needless. Returns whether it did.
    pub(super) fn undo_if_needless(&mut self, report: &Report<'_>, evidence: Evidence) -> bool {
        let now = self.vars.now;
        let Some(selective) = &self.selective else {
            return false;
        };
        let Some(undo) = &selective.undo else {
            return false;
        };
        let late = report.acked.advanced && undo.echo_is_older(now, report.echo_age);
        // While other retransmissions are under way, one late segment tells nothing about them
        // (Linux: `tcp_try_undo_partial`).
        let late = match selective.after_timeout() {
            true => late,
            false => {
                let whole = selective.ends_with(report.ack) || !selective.repairs();
                late && selective.repairs() && (whole || selective.retransmitted_in_flight() == 0)
            }
        };
        let by_frto = selective.after_timeout() && selective.frto != Frto::Off && evidence.original;
        if !(late || by_frto || undo.all_were_duplicates()) {
            return false;
        }
        self.undo();
        true
    }

    fn undo(&mut self) {
        let Some(selective) = &mut self.selective else {
            return;
        };
        let Some(undo) = selective.undo.take() else {
            return;
        };
        // If the window has grown since, the algorithm's old memory is outdated.
        let at_once = selective.repairs();
        selective.reopen();
        self.vars.cwnd = self.vars.cwnd.max(undo.cwnd);
        self.vars.ssthresh = self.vars.ssthresh.max(undo.ssthresh);
        if at_once {
            self.congestion = undo.congestion;
        }
        self.resend.set_wanted(false);
        self.counters.undone_reductions += 1;
    }

    /// RFC 5682, section 3.1, after a timeout: sends new data first, to see whether what was sent
    /// before arrives after all. Returns whether what is deemed lost has to wait for that.
    pub(super) fn follow_frto(&mut self, report: &Report<'_>, evidence: Evidence) -> bool {
        let end = self.vars.una + self.vars.wnd;
        let new_data = self.vars.nxt < self.vars.written.min(end);
        let Some(selective) = &mut self.selective else {
            return false;
        };
        if !selective.after_timeout() {
            selective.frto = Frto::Off;
        }
        selective.frto = match selective.frto {
            // Steps 2.a and 2.b.
            Frto::Resent if report.acked.advanced && new_data => Frto::Probing,
            Frto::Resent if !report.acked.advanced && !evidence.sacked => Frto::Resent,
            // Step 3.a: the loss was real.
            _ => Frto::Off,
        };
        selective.frto == Frto::Probing
    }
}
