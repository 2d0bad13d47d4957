//! The scoreboard: what was sent and is not acknowledged yet, one entry per transmission (RFC 6675,
//! section 3; RFC 8985, section 5.2). Kept only where both sides permitted SACK.

use alloc::collections::VecDeque;

use crate::offset::{Offset, Span};
use crate::time::Instant;

/// A segment as it was last sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    /// The sequence numbers it takes; that of a FIN is one of them.
    pub(super) span: Span,
    /// Its place in the order of all transmissions. Where several leave at one instant, the clock
    /// does not tell which came first.
    pub(super) number: u64,
    /// When it left the last time.
    pub(super) sent_at: Instant,
    /// It left more than once.
    pub(super) retransmitted: bool,
    /// The peer has it (RFC 6675: SACKed).
    pub(super) sacked: bool,
    /// It is deemed lost and was not sent again since.
    pub(super) lost: bool,
    /// It was sent again without being deemed lost: the network may carry both copies.
    twice: bool,
}

impl Transmission {
    /// Returns what it adds to the pipe (RFC 6675, section 4, SetPipe: once for what is not deemed lost, and
    /// once for what was sent again).
    fn in_flight(&self) -> u64 {
        match (self.sacked || self.lost, self.twice) {
            (true, _) => 0,
            (false, false) => self.span.len(),
            (false, true) => 2 * self.span.len(),
        }
    }
}

/// What is in flight, in order of sequence numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    sent: VecDeque<Transmission>,
    /// Transmissions so far.
    count: u64,
    /// Octets in flight: neither SACKed nor lost (RFC 6675, section 4, SetPipe).
    pipe: u64,
    sacked_segments: u32,
    lost_segments: u32,
    /// One past the highest octet SACKed so far.
    highest_sacked: Offset,
    /// Octets that reached the peer so far, as far as it said.
    delivered: u64,
}

impl Scoreboard {
    /// Octets that the network still carries, as far as one can tell.
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Returns whether something is deemed lost and waits to be sent again.
    #[inline]
    pub(super) fn has_lost(&self) -> bool {
        self.lost_segments > 0
    }

    /// Segments that the peer holds beyond a hole.
    #[inline]
    pub(super) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Segments that are deemed lost and were not sent again since.
    pub(super) fn lost_segments(&self) -> u32 {
        self.lost_segments
    }

    /// Octets that reached the peer so far, as far as it said.
    #[inline]
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Returns all of it, lowest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Transmission> {
        self.sent.iter()
    }

    /// Segments in flight or deemed lost.
    pub(super) fn segments(&self) -> usize {
        self.sent.len()
    }

    /// New data left.
    pub(super) fn sent(&mut self, span: Span, now: Instant) {
        // A window probe may have been here before; SND.NXT stayed then.
        debug_assert!(
            self.sent
                .back()
                .is_none_or(|last| last.span.end <= span.start)
        );
        self.pipe += span.len();
        self.count += 1;
        self.sent.push_back(Transmission {
            span,
            number: self.count,
            sent_at: now,
            retransmitted: false,
            sacked: false,
            lost: false,
            twice: false,
        });
    }

    /// `span`, which begins where a transmission began, left again. Where that was longer (the MSS
    /// has shrunk), the rest becomes an entry of its own.
    pub(super) fn sent_again(&mut self, span: Span, now: Instant) {
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

    /// Returns when the first segment left that `ack` acknowledges and no block did before; nothing where one
    /// that it acknowledges was sent again, since nobody knows which it was (Karn's algorithm).
    pub(super) fn first_left(&self, ack: Offset) -> Option<Instant> {
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

    /// All up to `ack` is acknowledged; `delivered` is told of what had not been SACKed before.
    pub(super) fn acked(&mut self, ack: Offset, mut delivered: impl FnMut(&Transmission)) {
        while let Some(first) = self.sent.front_mut() {
            if first.span.start >= ack {
                break;
            }
            self.pipe -= first.in_flight();
            if !first.sacked {
                self.delivered += first.span.end.min(ack).since(first.span.start);
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

    /// The peer has `block`: so it has every transmission that lies in it whole.
    pub(super) fn sacked(&mut self, block: Span, mut delivered: impl FnMut(&Transmission)) {
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
            self.delivered += entry.span.len();
            self.highest_sacked = self.highest_sacked.max(entry.span.end);
            delivered(entry);
        }
    }

    /// Deems lost what `is_lost` says of transmissions that are neither SACKed nor lost; asked from
    /// the lowest up, until it says [`Judged::Enough`].
    pub(super) fn judge(&mut self, mut is_lost: impl FnMut(&Transmission) -> Judged) {
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

    /// Deems nothing lost any more: it is on its way.
    pub(super) fn nothing_is_lost(&mut self) {
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
    pub(super) fn first_lost(&self) -> Option<Span> {
        if self.lost_segments == 0 {
            return None;
        }
        self.sent.iter().find(|t| t.lost).map(|t| t.span)
    }

    /// Returns the lowest one below something SACKed that is neither SACKed nor lost nor was sent again
    /// (RFC 6675, section 4, NextSeg, rule 3).
    pub(super) fn first_doubtful(&self) -> Option<Span> {
        self.sent
            .iter()
            .take_while(|t| t.span.end <= self.highest_sacked)
            .find(|t| !t.sacked && !t.lost && !t.retransmitted)
            .map(|t| t.span)
    }

    /// Returns the highest one that is not SACKed.
    pub(super) fn last_unsacked(&self) -> Option<Span> {
        self.sent.iter().rev().find(|t| !t.sacked).map(|t| t.span)
    }

    /// The last one sent.
    pub(super) fn last(&self) -> Option<Span> {
        self.sent.back().map(|t| t.span)
    }

    /// Makes two entries of the last one, if `at` lies within it.
    pub(super) fn split_last(&mut self, at: Offset) {
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

    /// RFC 2018, section 8: a peer that SACKed what it then does not acknowledge has thrown it away
    /// again. If that is how it looks, nothing it SACKed counts any more.
    pub(super) fn mistrust_a_reneging_peer(&mut self) {
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

/// What became of a transmission, as far as one can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Lost,
    InFlight,
    /// Neither this one nor any above it is lost.
    Enough,
}

#[cfg(test)]
mod tests;
