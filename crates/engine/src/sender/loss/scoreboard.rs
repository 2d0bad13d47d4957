//! The scoreboard: what was sent and is not acknowledged yet, one entry per transmission (RFC 6675,
//! section 3; RFC 8985, section 5.2). Kept only if both sides permitted SACK.

use alloc::collections::VecDeque;

use crate::offset::{Offset, Span};
use crate::time::Instant;

/// A segment as it was last sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    /// The sequence numbers that it takes, including a FIN's.
    pub(crate) span: Span,
    /// Its place in the order of all transmissions. If several leave at one instant, the clock does
    /// not tell which came first.
    pub(crate) number: u64,
    /// When it last left.
    pub(crate) sent_at: Instant,
    /// Whether it left more than once.
    pub(crate) retransmitted: bool,
    /// Whether the peer has it (RFC 6675: SACKed).
    pub(crate) sacked: bool,
    /// Whether it is deemed lost and was not resent since.
    pub(crate) lost: bool,
    /// Whether it was resent without being deemed lost, so that the network may carry both copies.
    twice: bool,
    /// The octets that it counts for at least.
    least: u64,
}

impl Transmission {
    /// Returns the octets that it counts for.
    fn weight(&self) -> u64 {
        self.span.len().max(self.least)
    }

    /// Returns what it adds to the pipe (RFC 6675, section 4, SetPipe: once if it is not deemed
    /// lost, and once more if it was resent).
    fn in_flight(&self) -> u64 {
        match (self.sacked || self.lost, self.twice) {
            (true, _) => 0,
            (false, false) => self.weight(),
            (false, true) => 2 * self.weight(),
        }
    }
}

/// What is in flight, in order of sequence numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sent: VecDeque<Transmission>,
    /// The number of transmissions so far.
    count: u64,
    /// Octets in flight: neither SACKed nor lost (RFC 6675, section 4, SetPipe).
    pipe: u64,
    sacked_segments: u32,
    lost_segments: u32,
    /// One past the highest octet SACKed so far.
    highest_sacked: Offset,
    /// Octets that reached the peer so far, according to its acknowledgments.
    delivered: u64,
    /// The octets that a segment counts for at least.
    least: u64,
}

impl Scoreboard {
    /// Returns the estimate of the octets that the network still carries.
    #[inline]
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Returns whether something is deemed lost and waits for retransmission.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.lost_segments > 0
    }

    /// Returns the segments that the peer holds beyond a hole.
    #[inline]
    pub(crate) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Returns the segments that are deemed lost and were not resent since.
    pub(crate) fn lost_segments(&self) -> u32 {
        self.lost_segments
    }

    /// Returns the octets that reached the peer so far, according to its acknowledgments.
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Lets each segment that leaves from now on count for `octets` at least, however short it is.
    pub(crate) fn count_at_least(&mut self, octets: u32) {
        self.least = octets.into();
    }

    /// Returns the octets that a segment counts for at least.
    pub(crate) fn least(&self) -> u64 {
        self.least
    }

    /// Returns all transmissions, lowest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Transmission> {
        self.sent.iter()
    }

    /// Returns the segments in flight or deemed lost.
    pub(crate) fn segments(&self) -> usize {
        self.sent.len()
    }

    /// Adds new data that left.
    pub(crate) fn sent(&mut self, span: Span, now: Instant) {
        // A window probe may have been at this place before; SND.NXT stayed then.
        debug_assert!(
            self.sent
                .back()
                .is_none_or(|last| last.span.end <= span.start)
        );
        self.pipe += span.len().max(self.least);
        self.count += 1;
        self.sent.push_back(Transmission {
            span,
            number: self.count,
            sent_at: now,
            retransmitted: false,
            sacked: false,
            lost: false,
            twice: false,
            least: self.least,
        });
    }

    /// Records that `span`, which begins where a transmission began, left again. If that
    /// transmission was longer (because the MSS has shrunk), the rest becomes an entry of its own.
    pub(crate) fn sent_again(&mut self, span: Span, now: Instant) {
        let at = self.sent.partition_point(|t| t.span.start < span.start);
        let Some(entry) = self.sent.get_mut(at) else {
            return;
        };
        debug_assert!(entry.span.start == span.start && span.end <= entry.span.end);
        let rest = Transmission {
            span: Span::new(span.end, entry.span.end),
            ..*entry
        };
        entry.span.end = span.end;
        self.pipe -= entry.in_flight();
        entry.twice = !entry.lost;
        if entry.lost {
            entry.lost = false;
            self.lost_segments -= 1;
        }
        self.pipe += entry.in_flight();
        self.count += 1;
        entry.number = self.count;
        entry.sent_at = now;
        entry.retransmitted = true;
        if !rest.span.is_empty() {
            self.lost_segments += u32::from(rest.lost);
            self.sent.insert(at + 1, rest);
        }
    }

    /// Returns when the first segment left that `ack` acknowledges and that was not SACKed before;
    /// `None` if one that it acknowledges was resent, because the ACK may belong to either
    /// transmission (Karn's algorithm).
    pub(crate) fn first_left(&self, ack: Offset) -> Option<Instant> {
        let mut first = None;
        for segment in self.sent.iter().take_while(|t| t.span.end <= ack) {
            if segment.retransmitted {
                return None;
            }
            if !segment.sacked {
                first = first.or(Some(segment.sent_at));
            }
        }
        first
    }

    /// Removes everything up to `ack`; calls `delivered` for what had not been SACKed before.
    pub(crate) fn acked(&mut self, ack: Offset, mut delivered: impl FnMut(&Transmission)) {
        while let Some(first) = self.sent.front_mut() {
            if first.span.start >= ack {
                break;
            }
            self.pipe -= first.in_flight();
            if !first.sacked {
                self.delivered += match first.span.end <= ack {
                    true => first.weight(),
                    false => ack.since(first.span.start),
                };
            }
            if first.span.end > ack {
                first.span.start = ack;
                self.pipe += first.in_flight();
                break;
            }
            self.sacked_segments -= u32::from(first.sacked);
            self.lost_segments -= u32::from(first.lost);
            if !first.sacked {
                delivered(first);
            }
            self.sent.pop_front();
        }
    }

    /// Marks every transmission that lies wholly in `block`, which the peer has.
    pub(crate) fn sacked(&mut self, block: Span, mut delivered: impl FnMut(&Transmission)) {
        let first = self.sent.partition_point(|t| t.span.start < block.start);
        for entry in self.sent.range_mut(first..) {
            if entry.span.end > block.end {
                break;
            }
            if entry.sacked {
                continue;
            }
            self.pipe -= entry.in_flight();
            self.lost_segments -= u32::from(entry.lost);
            entry.lost = false;
            entry.sacked = true;
            self.sacked_segments += 1;
            self.delivered += entry.weight();
            self.highest_sacked = self.highest_sacked.max(entry.span.end);
            delivered(entry);
        }
    }

    /// Marks as lost the transmissions that `is_lost` deems lost, among those neither SACKed nor
    /// lost; asks from the lowest up, until it returns [`Judged::Enough`].
    pub(crate) fn judge(&mut self, mut is_lost: impl FnMut(&Transmission) -> Judged) {
        for entry in &mut self.sent {
            if entry.sacked || entry.lost {
                continue;
            }
            match is_lost(entry) {
                Judged::Lost => {
                    self.pipe -= entry.in_flight();
                    entry.lost = true;
                    self.lost_segments += 1;
                }
                Judged::InFlight => {}
                Judged::Enough => return,
            }
        }
    }

    /// Deems nothing lost any more: everything counts as on its way.
    pub(crate) fn nothing_is_lost(&mut self) {
        if self.lost_segments == 0 {
            return;
        }
        for entry in self.sent.iter_mut().filter(|entry| entry.lost) {
            entry.lost = false;
            self.pipe += entry.in_flight();
        }
        self.lost_segments = 0;
    }

    /// Returns the lowest transmission that is deemed lost (RFC 6675, section 4, NextSeg, rule 1).
    pub(crate) fn first_lost(&self) -> Option<Span> {
        if self.lost_segments == 0 {
            return None;
        }
        self.sent.iter().find(|t| t.lost).map(|t| t.span)
    }

    /// Returns the lowest transmission below something SACKed that is neither SACKed nor lost and
    /// was not resent (RFC 6675, section 4, NextSeg, rule 3).
    pub(crate) fn first_doubtful(&self) -> Option<Span> {
        self.sent
            .iter()
            .take_while(|t| t.span.end <= self.highest_sacked)
            .find(|t| !t.sacked && !t.lost && !t.retransmitted)
            .map(|t| t.span)
    }

    /// Returns the highest transmission that is not SACKed.
    pub(crate) fn last_unsacked(&self) -> Option<Span> {
        self.sent.iter().rev().find(|t| !t.sacked).map(|t| t.span)
    }

    /// Returns the last transmission.
    pub(crate) fn last(&self) -> Option<Span> {
        self.sent.back().map(|t| t.span)
    }

    /// Splits the last entry in two at `at`, if `at` lies within it.
    pub(crate) fn split_last(&mut self, at: Offset) {
        let Some(last) = self.sent.back_mut() else {
            return;
        };
        if last.span.start < at && at < last.span.end {
            let rest = Transmission {
                span: Span::new(at, last.span.end),
                ..*last
            };
            last.span.end = at;
            self.sacked_segments += u32::from(rest.sacked);
            self.lost_segments += u32::from(rest.lost);
            self.sent.push_back(rest);
        }
    }

    /// RFC 2018, section 8: a peer that SACKed something and then does not acknowledge it has
    /// discarded it. If that seems so, none of its SACKs counts any more.
    pub(crate) fn mistrust_a_reneging_peer(&mut self) {
        if !self.sent.front().is_some_and(|first| first.sacked) {
            return;
        }
        for entry in &mut self.sent {
            if entry.sacked {
                entry.sacked = false;
                entry.twice = false;
                self.pipe += entry.in_flight();
            }
        }
        self.sacked_segments = 0;
        self.highest_sacked = Offset::SYN;
    }
}

/// The judgement of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Lost,
    InFlight,
    /// Neither this transmission nor any above it is lost.
    Enough,
}

#[cfg(test)]
mod tests;
