//! When the sender wants to be woken, and what it does then.

use super::loss::Loss;
use super::timers::{Expired, TimerReason};
use super::{Resend, Sender};
use crate::offset::Offset;
use crate::time::{Deadline, Instant};

impl Sender {
    /// Returns the earliest deadline.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Deadline {
        let mut first = self.timers.next_deadline();
        first = first.min(self.small.asked_again_at());
        first = first.min(self.window.restart.waits_until());
        if let Some(next) = self.window.paced_until() {
            first = first.min(Deadline::at(next));
        }
        first
    }

    /// Returns the earliest deadline and its purpose.
    #[inline]
    pub(crate) fn next_timer(&self) -> (Deadline, TimerReason) {
        let mut first = self.timers.next_timer();
        if self.small.asked_again_at() < first.0 {
            first = (self.small.asked_again_at(), TimerReason::Hold);
        }
        if self.window.restart.waits_until() < first.0 {
            first = (self.window.restart.waits_until(), TimerReason::Pace);
        }
        if let Some(next) = self.window.paced_until()
            && Deadline::at(next) < first.0
        {
            first = (Deadline::at(next), TimerReason::Pace);
        }
        first
    }

    /// Handles the passing of time.
    pub(crate) fn on_wakeup(&mut self, now: Instant) -> Expired {
        self.now = now;
        let (deadline, reason) = self.next_timer();
        if !deadline.is_due(now) {
            return Expired::Nothing;
        }
        match reason {
            TimerReason::Hold => {
                // Asked again only once; if the window has closed meanwhile, an ACK causes the next
                // question.
                self.small.asked_again();
                self.push_what_is_written();
                Expired::Pass
            }
            TimerReason::Pace => {
                self.window.stop_waiting();
                Expired::Pass
            }
            TimerReason::Reordering => {
                self.timers.set_early(None);
                if let Loss::Scoreboard(selective) = &mut self.loss {
                    let context = context!(self);
                    selective.on_reordering_timer(reach!(self), &context);
                }
                Expired::Pass
            }
            TimerReason::TailProbe => {
                self.timers.set_early(None);
                match self.timers.device_full() {
                    true => Expired::Nothing,
                    false => Expired::TailProbe,
                }
            }
            TimerReason::Persist => self.timers.on_persist(now, &self.rtt),
            TimerReason::Retransmit => {
                let expired = self.timers.on_retransmission(now, &self.rtt);
                if expired == Expired::Pass {
                    self.go_back();
                }
                expired
            }
        }
    }

    /// Handles the expiry of the retransmission timer: goes back to SND.UNA (RFC 6298, section 5;
    /// RFC 5681, equation 4), or marks on the scoreboard what is lost.
    fn go_back(&mut self) {
        self.resend = Resend::default();
        self.rtt.timed_out();
        self.counters.timeouts += 1;
        self.path.probe_is_inconclusive();
        let unacknowledged = self.seq.written.since(self.seq.una);
        self.path
            .suspect_a_black_hole(self.rtt.unanswered(), unacknowledged);
        self.shrink_the_window();
        let context = context!(self);
        match &mut self.loss {
            Loss::Scoreboard(selective) if self.seq.una > Offset::SYN => {
                selective.on_timeout(&context);
                self.timers.set_early(None);
                self.resend.set_wanted(true);
                self.resend.force_one();
                return;
            }
            Loss::Scoreboard(_) => {}
            Loss::ByAcks(by_acks) => by_acks.on_timeout(self.seq.max),
        }
        self.seq.nxt = self.seq.una;
    }

    /// Reduces the window for a retransmission timeout.
    fn shrink_the_window(&mut self) {
        let mss = u64::from(self.path.mss);
        // A lost SYN tells nothing about how fast data may leave. So the initial window is one
        // segment (RFC 5681, section 3.1), and slow start ends where it would have ended. "The value
        // of ssthresh is held constant" if a retransmission was lost (section 3.1).
        if self.seq.una == Offset::SYN || self.rtt.unanswered() != 1 {
            self.window.cwnd = mss;
            return;
        }
        let context = context!(self);
        // If the timeout ends a recovery, an undo restores the state before that recovery.
        if let Loss::Scoreboard(selective) = &mut self.loss
            && !selective.repairs()
        {
            selective.remember_for_undo(&self.window, &context);
        }
        self.window.time_out(self.seq.outstanding(), &context);
    }

    /// Turns every timer off, because the connection is gone.
    pub(crate) fn stop_timers(&mut self) {
        self.timers.stop();
        self.small.release();
        self.window.stop();
    }
}
