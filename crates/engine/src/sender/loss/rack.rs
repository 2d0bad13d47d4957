//! RACK: a segment is lost if one that was sent sufficiently later has arrived (RFC 8985, section
//! 6). Names are the RFC's.

use super::scoreboard::{Judged, Scoreboard, Transmission};
use crate::offset::Offset;
use crate::options::Timestamps;
use crate::time::{Duration, Instant};

/// The number of SACKed segments that indicates a loss if no reordering was ever seen (section 6.2,
/// step 4).
const DUP_THRESH: u32 = 3;
/// The number of recoveries for which a widened reordering window is kept (section 6.2, step 4).
const REO_WND_PERSIST: u32 = 16;
/// How long a least round-trip time counts, because routes change (section 6.2, step 1, leaves it
/// open; Linux: `tcp_min_rtt_wlen`).
const MIN_RTT_LIFE: Duration = Duration::from_secs(300);

/// The variables of section 5.3.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// The number of the segment that was sent last among those delivered. The RFC keeps
    /// RACK.xmit_ts and RACK.end_seq and compares both (RACK_sent_after); a count of transmissions
    /// is exact.
    newest: u64,
    /// The round trip of the segment delivered last.
    rtt: Duration,
    min_rtt: Option<(Duration, Instant)>,
    /// One past the highest octet delivered so far.
    fack: Offset,
    reordering_seen: bool,
    /// How often acknowledgments showed reordering, and whether the present one did.
    reorderings: u32,
    reordered_now: bool,
    /// The farthest that a segment was overtaken, in octets.
    reordering: u64,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// The end of the round in which a DSACK has already widened the window.
    dsack_round: Option<Offset>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: 0,
            rtt: Duration::ZERO,
            min_rtt: None,
            fack: Offset::SYN,
            reordering_seen: false,
            reorderings: 0,
            reordered_now: false,
            reordering: 0,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
        }
    }
}

/// The state of the sender when losses are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) now: Instant,
    pub(crate) srtt: Option<Duration>,
    pub(crate) in_recovery: bool,
}

impl Rack {
    /// Section 6.2, steps 1 to 3: takes in `segment`, which is newly acknowledged or SACKed.
    /// `echo_age` is how long ago the timestamp that the ACK echoes was sent, within a tick. A
    /// segment that ends below `fack` was overtaken.
    pub(crate) fn delivered(
        &mut self,
        segment: &Transmission,
        now: Instant,
        echo_age: Option<Duration>,
        fack: Offset,
    ) {
        let rtt = now.since(segment.sent_at);
        // Step 2: the ACK of a retransmission may be that of the original.
        if segment.retransmitted {
            let of_the_original = echo_age.is_some_and(|age| age > rtt + Timestamps::TICK);
            let too_quick = self.min_rtt.is_some_and(|(least, _)| rtt < least);
            if of_the_original || too_quick {
                return;
            }
        } else {
            self.min_rtt = match self.min_rtt {
                Some((least, since)) if least <= rtt && now.since(since) < MIN_RTT_LIFE => {
                    Some((least, since))
                }
                _ => Some((rtt, now)),
            };
            // Step 3.
            if segment.span.end < fack {
                self.reordering_seen = true;
                self.reordered_now = true;
                self.reordering = self.reordering.max(fack - segment.span.start);
            }
        }
        self.fack = self.fack.max(segment.span.end);
        // The round trip of the newest delivery, whichever transmission it was.
        self.rtt = rtt;
        self.newest = self.newest.max(segment.number);
    }

    /// Counts the reordering that the deliveries so far showed.
    pub(crate) fn count_reordering(&mut self) {
        self.reorderings += u32::from(core::mem::take(&mut self.reordered_now));
    }

    /// Returns how often acknowledgments showed reordering.
    pub(crate) fn reorderings(&self) -> u32 {
        self.reorderings
    }

    /// Returns RACK.min_RTT.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(|(least, _)| least)
    }

    /// Returns RACK.fack.
    pub(crate) fn fack(&self) -> Offset {
        self.fack
    }

    /// Returns the farthest that a segment was overtaken, in octets.
    pub(crate) fn reordering(&self) -> u64 {
        self.reordering
    }

    /// Section 6.2, step 4: handles a DSACK. It says that a retransmission was not needed, so late
    /// segments get more time; once per round trip.
    pub(crate) fn duplicate_reported(&mut self, una: Offset, nxt: Offset) {
        if self.dsack_round.is_some_and(|end| una >= end) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() {
            self.dsack_round = Some(nxt);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Section 6.2, step 4: after sixteen recoveries without a DSACK, narrows the window again.
    pub(crate) fn recovery_ended(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Section 6.2, step 4: returns how long to wait for a segment that may only be late.
    fn reo_wnd(&self, board: &Scoreboard, standing: &Standing) -> Duration {
        if !self.reordering_seen && (standing.in_recovery || board.sacked_segments() >= DUP_THRESH)
        {
            return Duration::ZERO;
        }
        let least = self.min_rtt.map_or(Duration::ZERO, |(least, _)| least);
        let quarter = Duration::from_nanos(least.as_nanos() / 4);
        let window = quarter.times(u64::from(self.reo_wnd_mult));
        standing.srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Section 6.2, step 5 (RACK_detect_loss). Returns when to check the suspected segments again.
    pub(crate) fn detect_loss(
        &self,
        board: &mut Scoreboard,
        standing: &Standing,
    ) -> Option<Instant> {
        let patience = self.rtt + self.reo_wnd(board, standing);
        let mut again = None;
        board.judge(|segment| {
            if self.newest <= segment.number {
                // First transmissions leave in order; retransmissions may stand anywhere.
                return match segment.retransmitted {
                    true => Judged::InFlight,
                    false => Judged::Enough,
                };
            }
            let due = segment.sent_at + patience;
            if due <= standing.now {
                return Judged::Lost;
            }
            again = again.max(Some(due));
            Judged::InFlight
        });
        again
    }

    /// Section 6.3: handles a timeout. What left recently may still arrive; the first segment is
    /// lost.
    pub(crate) fn timed_out(&self, board: &mut Scoreboard, una: Offset, standing: &Standing) {
        let patience = self.rtt + self.reo_wnd(board, standing);
        board.judge(|segment| {
            let overdue = segment.sent_at + patience <= standing.now;
            match segment.span.start == una || overdue {
                true => Judged::Lost,
                false => Judged::InFlight,
            }
        });
    }
}

#[cfg(test)]
mod tests;
