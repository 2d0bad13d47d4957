//! What an acknowledgment tells about deliveries: it is marked on the scoreboard, and RACK learns
//! from it.

use super::{Phase, Selective};
use crate::offset::{Offset, Span};
use crate::options::SackBlocks;
use crate::sender::context::Context;
use crate::sender::loss::report::Report;
use crate::sender::loss::scoreboard::Transmission;
use crate::sender::loss::undo::{Evidence, Frto};
use crate::time::Duration;

/// What an acknowledgment told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    /// Whether it acknowledged or SACKed something new.
    pub(super) news: bool,
    /// The DSACK among its blocks.
    pub(super) duplicate: Option<Span>,
    /// The round trip of the last segment that it acknowledged, if none of those segments was sent
    /// twice.
    pub(super) round_trip: Option<Duration>,
    /// What it told about a timeout.
    pub(super) evidence: Evidence,
}

impl Selective {
    /// Marks what was acknowledged and SACKed on the scoreboard.
    pub(super) fn mark_delivered(&mut self, report: &Report<'_>, context: &Context<'_>) -> Heard {
        let (now, una) = (context.now, context.seq.una);
        let before_timeout = match self.phase {
            Phase::AfterTimeout(end) if self.frto != Frto::Off => end,
            _ => Offset::SYN,
        };
        let mut heard = Heard {
            news: report.acked.advanced,
            duplicate: duplicate_among(report.blocks, report.ack),
            ..Heard::default()
        };
        let Self { board, rack, .. } = self;
        let mut rack = rack.as_mut();
        let is_original =
            |segment: &Transmission| !segment.retransmitted && segment.span.end <= before_timeout;
        let (blocks, known) = sensible(report.blocks, una, context.seq.max);
        // What this ACK SACKs does not overtake what it acknowledges.
        let fack = rack.as_ref().map_or(Offset::SYN, |rack| rack.fack());
        // All in one order: the last one determines RACK's round trip (Linux:
        // `tcp_sacktag_write_queue` before `tcp_clean_rtx_queue`).
        for block in &blocks[..known] {
            board.sacked(*block, |segment| {
                heard.news = true;
                heard.evidence.sacked = true;
                heard.evidence.original |= is_original(segment);
                if let Some(rack) = &mut rack {
                    let fack = rack.fack();
                    rack.delivered(segment, now, report.echo_age, fack);
                }
            });
        }
        if let Some(rack) = &mut rack {
            rack.count_reordering();
        }
        let mut certain = true;
        if report.acked.advanced {
            board.acked(report.ack, |segment| {
                heard.round_trip = Some(now.since(segment.sent_at));
                certain &= !segment.retransmitted;
                heard.evidence.original |= is_original(segment);
                if let Some(rack) = &mut rack {
                    rack.delivered(segment, now, report.echo_age, fack);
                }
            });
        }
        if let Some(rack) = rack {
            rack.count_reordering();
            if heard.duplicate.is_some() {
                rack.duplicate_reported(una, context.seq.nxt);
            }
        }
        heard.round_trip = heard.round_trip.filter(|_| certain);
        heard
    }
}

/// Returns the blocks that can be true, lowest first, and how many there are: only outstanding data
/// can be SACKed (RFC 5961's caution, applied to blocks). The newest block comes first in a segment.
/// Several new blocks at once, because an ACK was lost, are no reordering; hence the order.
fn sensible(given: &SackBlocks, una: Offset, max: Offset) -> ([Span; SackBlocks::MAX], usize) {
    let mut blocks = [Span::default(); SackBlocks::MAX];
    let mut known = 0;
    for block in given.iter() {
        if block.start >= una && block.end <= max && !block.is_empty() {
            blocks[known] = block;
            known += 1;
        }
    }
    blocks[..known].sort_unstable_by_key(|block| block.start);
    (blocks, known)
}

/// RFC 2883, section 4: returns the first block if it is a DSACK: it lies below the acknowledgment,
/// or inside the second block.
pub(super) fn duplicate_among(blocks: &SackBlocks, ack: Offset) -> Option<Span> {
    let mut blocks = blocks.iter();
    let first = blocks.next()?;
    let inside = blocks
        .next()
        .is_some_and(|second| second.start <= first.start && first.end <= second.end);
    (first.end <= ack || inside).then_some(first)
}
