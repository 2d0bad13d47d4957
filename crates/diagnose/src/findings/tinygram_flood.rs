//! Many short segments close together that a few segments could have carried: they cost packets,
//! interrupts and header bytes instead of stalls. Overhead is computed by Davids' formula.

use super::{Facts, Finding, Words};
use crate::flow::connection::Connection;
use crate::flow::half::Mark;
use crate::vocabulary::{Kind, Pieces, Tier};

/// The size of a flood, for one direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// Data segments.
    pub segments: u32,
    /// Data segments below the MSS.
    pub short: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// Segments that coalescing writes within 10 ms would have saved.
    pub saved: u32,
    /// Davids' overhead in percent: header and framing bytes of data and ACKs relative to payload.
    pub overhead_percent: f64,
    /// The overhead in percent if the segments had been coalesced.
    pub coalesced_percent: f64,
    /// Mergeable segments per second during the flood.
    pub per_second: f64,
}

/// Returns the flood of a connection that has ended: a flood is a habit, not an event.
pub(crate) fn find(connection: &Connection, from: usize, mss: u32) -> Option<Finding> {
    let half = &connection.halves[from];
    let tally = &half.tally;
    if tally.mergeable < LEAST {
        return None;
    }
    let seconds = (connection.last_ns - connection.first.time_ns) as f64 / 1e9;
    let per_second = f64::from(tally.mergeable) / seconds.max(0.1);
    let per_run = f64::from(tally.mergeable) / f64::from(tally.runs.max(1));
    let share = f64::from(tally.mergeable) / f64::from(tally.segments);
    // Between large segments, runs of tiny ones count as a flood alone.
    let tiny = tally.in_long_runs >= LEAST
        && tally.long_run_bytes <= u64::from(tally.in_long_runs) * TINY_BYTES;
    if !tiny && (share < 0.5 || (per_second < 40.0 && per_run < 4.0)) {
        return None;
    }
    let still = (tally.mergeable_bytes / u64::from(mss)) as u32;
    let saved = tally.mergeable.saturating_sub(still);
    let frame_bytes = DATA_OVERHEAD + extra(connection, from);
    let ack_bytes = ACK_OVERHEAD + extra(connection, from);
    let overhead = |segments: u32, acks: u32| {
        let bytes = f64::from(segments) * frame_bytes + f64::from(acks) * ack_bytes;
        100.0 * bytes / tally.bytes as f64
    };
    if !tiny && overhead(tally.segments, tally.acks) < LEAST_OVERHEAD_PERCENT {
        return None;
    }
    // ACKs are saved in the same proportion as the segments they cover.
    let kept = tally.segments - saved;
    let acks = f64::from(tally.acks) * f64::from(kept) / f64::from(tally.segments);
    let sender = connection.side(from);
    let last = Mark {
        frame: half.sent.frame,
        time_ns: half.sent.time_ns,
    };
    Some(Finding {
        kind: Kind::TinygramFlood,
        connection: connection.id,
        sender,
        blame: sender,
        frames: vec![connection.first, last],
        start_ns: connection.first.time_ns,
        cost_ns: 0,
        tier: Tier::Certain,
        pieces: Pieces::OneMessage,
        protocol: connection.protocol(),
        facts: Facts::Flood(Flood {
            segments: tally.segments,
            short: tally.short,
            bytes: tally.bytes,
            saved,
            overhead_percent: overhead(tally.segments, tally.acks),
            coalesced_percent: overhead(kept, acks as u32),
            per_second,
        }),
    })
}

/// Returns the header bytes beyond Davids' forty: timestamps and IPv6.
fn extra(connection: &Connection, from: usize) -> f64 {
    let stamps = if connection.halves[from].timestamps {
        12.0
    } else {
        0.0
    };
    let v6 = if connection.ends.ends[0].address().is_ipv6() {
        20.0
    } else {
        0.0
    };
    stamps + v6
}

/// Davids 2000: 8 preamble, 14 Ethernet, 20 IP, 20 TCP, 4 trailer, 12 gap.
const DATA_OVERHEAD: f64 = 78.0;
/// An ACK is padded by 6 more.
const ACK_OVERHEAD: f64 = 84.0;
/// A flood carries more headers than payload.
const LEAST_OVERHEAD_PERCENT: f64 = 100.0;
/// On average per segment; less than the headers that carry it.
const TINY_BYTES: u64 = 64;
/// Fewer are not a flood.
const LEAST: u32 = 50;

pub(super) static WORDS: Words = Words {
    habit: |f| match &f.facts {
        Facts::Flood(flood) => format!(
            "sends {} segments of {} bytes on average; {} could be saved",
            flood.segments,
            flood.bytes / u64::from(flood.segments.max(1)),
            flood.saved
        ),
        Facts::Hold(_) => String::new(),
    },
    evidence: |f| match &f.facts {
        Facts::Flood(flood) => vec![
            format!(
                "The {} sent {} data segments, {} of them short, with {} bytes in all.",
                f.sender, flood.segments, flood.short, flood.bytes
            ),
            format!(
                "Headers and framing cost {:.0} % of the payload (Davids' formula); coalesced \
                 within 10 ms it would be {:.0} % and {} segments fewer.",
                flood.overhead_percent, flood.coalesced_percent, flood.saved
            ),
        ],
        Facts::Hold(_) => Vec::new(),
    },
};
