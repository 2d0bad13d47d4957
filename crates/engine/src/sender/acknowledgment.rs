//! What an acknowledgment does to the parts of the sender.

use super::loss::{Loss, Progress, Report};
use super::rtt::Echo;
use super::send_policy::Moment;
use super::{Acked, Sender};
use crate::offset::Offset;
use crate::segment::Segment;
use crate::time::{Duration, Instant};

impl Sender {
    /// Handles an acceptable ACK with its window (RFC 9293, section 3.10.7.4, fifth check). `pure`
    /// says that the segment carried nothing else, as duplicate ACKs do. `echo_age` is how long ago
    /// the timestamp that it echoes was sent.
    #[inline(always)]
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        segment: &Segment,
        pure: bool,
        echo_age: Option<Duration>,
    ) -> Acked {
        let acked = self.take_acknowledgment(now, segment, pure, echo_age);
        self.seq
            .update_window(segment.seq, segment.ack, u64::from(segment.window));
        acked
    }

    /// Handles the acknowledgment of a segment whose window does not count; see [`Sender::on_ack`].
    #[inline(always)]
    pub(crate) fn take_acknowledgment(
        &mut self,
        now: Instant,
        segment: &Segment,
        pure: bool,
        echo_age: Option<Duration>,
    ) -> Acked {
        self.now = now;
        self.window.restart.heard(now);
        let (ack, window) = (segment.ack, u64::from(segment.window));
        let mut acked = Acked {
            released: 0,
            advanced: ack > self.seq.una,
        };
        let mut marked = false;
        if acked.advanced {
            self.window.restart.acked(now);
            acked.released = self.release(ack);
            let round_trip = self.measure(ack, echo_age);
            let echo = self.window.ecn.heeds_echo(segment.flags);
            marked = echo && self.window.ecn.is_a_new_mark(self.seq.una);
            if let Loss::ByAcks(_) = self.loss {
                self.progress_without_scoreboard(&Progress {
                    ack,
                    released: acked.released,
                    round_trip: round_trip.or(echo_age),
                    echo,
                });
            }
            self.timers.progress(now, self.seq.idle(), &self.rtt);
            self.small.observe(Moment::AckArrived, view!(self));
        } else {
            self.timers.probe_answered(now);
            if window == 0 {
                self.rtt.answered();
            }
            let is_old = ack == self.seq.una && window == self.seq.wnd;
            if is_old && pure && !self.seq.idle() {
                self.duplicate_without_scoreboard();
            }
        }
        if let Loss::Scoreboard(selective) = &mut self.loss {
            let report = Report {
                ack,
                blocks: &segment.options.sack,
                acked,
                echo_age,
                marked,
            };
            let context = context!(self);
            selective.on_ack(&report, reach!(self), &context);
        }
        acked
    }

    #[inline(always)]
    fn progress_without_scoreboard(&mut self, progress: &Progress) {
        if let Some(size) = self.path.judge_probe(progress.ack) {
            self.window.initial_holds(size);
        }
        if let Loss::ByAcks(by_acks) = &mut self.loss {
            let (window, resend) = (&mut self.window, &mut self.resend);
            by_acks.on_progress(progress, window, resend, &context!(self));
        }
    }

    fn duplicate_without_scoreboard(&mut self) {
        if let Loss::ByAcks(by_acks) = &mut self.loss {
            let context = context!(self);
            let (window, path, resend) = (&mut self.window, &mut self.path, &mut self.resend);
            if by_acks.on_duplicate(window, path, resend, &context) {
                self.rtt.distrust();
                self.counters.fast_retransmits += 1;
            }
        }
    }

    /// Measures and returns the round trip, if the acknowledgment tells it.
    #[inline(always)]
    fn measure(&mut self, ack: Offset, echo_age: Option<Duration>) -> Option<Duration> {
        let now = self.now;
        if self.rtt.times_every_ack()
            && let Some(left) = self.loss.first_left(ack)
        {
            return Some(self.rtt.acked_since(ack, now, left));
        }
        let max = self.seq.max;
        self.rtt
            .acked(ack, now, echo_age.map(|age| Echo { age, max }))
    }

    /// Removes what is acknowledged from the buffer; returns the octets of data among it.
    #[inline(always)]
    fn release(&mut self, ack: Offset) -> u64 {
        let released = self.seq.release(ack);
        self.small.release_before(ack);
        self.buffer.forget_pushes(&self.seq);
        released
    }
}
