//! Many short segments close together that a few segments could have carried: they cost packets,
//! interrupts and header bytes instead of stalls. Overhead is computed by Davids' formula.

use super::finding::{Facts, Finding};
use crate::flow::connection::Connection;
use crate::flow::mark::Mark;
use crate::verdict::check::{Asked, Saw};
use crate::verdict::checked::Checked;
use crate::verdict::checks::{flood_factor, flood_overhead, flood_rate, flood_share};
use tinygram_stalls::flood::{Counts, Flood};
use tinygram_stalls::thresholds::{
    FLOOD_LEAST_FACTOR, FLOOD_LEAST_OVERHEAD_PERCENT, FLOOD_LEAST_PER_RUN, FLOOD_LEAST_PER_SECOND,
    FLOOD_LEAST_SHARE, IPV6_EXTRA_BYTES, TIMESTAMP_BYTES,
};
use tinygram_stalls::{Kind, Pieces};

/// Returns the flood of a connection that has ended: a flood is a habit, not an event.
pub(crate) fn find(connection: &Connection, from: usize, mss: u32) -> Option<Finding> {
    let half = &connection.halves[from];
    let tally = &half.tally;
    let counts = Counts {
        segments: tally.segments,
        short: tally.short,
        bytes: tally.bytes,
        acks: tally.acks,
        mergeable: tally.mergeable,
        mergeable_bytes: tally.mergeable_bytes,
        runs: tally.runs,
        in_long_runs: tally.in_long_runs,
        long_run_bytes: tally.long_run_bytes,
        lasted_ns: connection.last_ns - connection.first.time_ns,
        mss,
        extra_bytes: extra(connection, from),
    };
    let flood = counts.flood()?;
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
        pieces: Pieces::OneMessage,
        protocol: connection.protocol(),
        facts: Facts::Flood(flood),
        loopback: connection.is_loopback(),
        addresses: [from, 1 - from].map(|end| connection.ends.ends[end].address()),
        checks: Checked::new(checks(&flood)),
    })
}

/// Returns what the measure of a flood asked.
fn checks(flood: &Flood) -> Vec<Asked> {
    let ratio = |saw: f64, bound: f64| Saw::Ratio(saw as f32, bound as f32);
    let by_run = flood.per_run >= FLOOD_LEAST_PER_RUN;
    let rate = match by_run {
        true => ratio(flood.per_run, FLOOD_LEAST_PER_RUN),
        false => ratio(flood.per_second, FLOOD_LEAST_PER_SECOND),
    };
    let share = ratio(flood.share, FLOOD_LEAST_SHARE);
    let overhead = ratio(
        flood.overhead_percent / 100.0,
        FLOOD_LEAST_OVERHEAD_PERCENT / 100.0,
    );
    // Between large segments, runs of tiny ones are a flood alone.
    let answers = [
        (&flood_share::CHECK, share),
        (&flood_rate::CHECK, rate),
        (&flood_overhead::CHECK, overhead),
    ];
    let asked = answers.into_iter().take(if flood.is_tiny { 0 } else { 3 });
    let mut checks: Vec<_> = asked
        .map(|(check, saw)| Asked::passed(check, saw))
        .collect();
    let factor = ratio(flood.factor, FLOOD_LEAST_FACTOR);
    checks.push(match flood.accuses() {
        true => Asked::passed(&flood_factor::CHECK, factor),
        false => Asked::failed(&flood_factor::CHECK, factor),
    });
    checks
}

/// Returns the header bytes beyond Davids' forty: timestamps and IPv6.
fn extra(connection: &Connection, from: usize) -> u32 {
    let stamps = match connection.halves[from].timestamps {
        true => u32::from(TIMESTAMP_BYTES),
        false => 0,
    };
    let v6 = connection.ends.ends[0].address().is_ipv6();
    stamps + if v6 { IPV6_EXTRA_BYTES.into() } else { 0 }
}

/// Returns the reasons, one sentence each.
pub(super) fn evidence(f: &Finding) -> Vec<String> {
    match &f.facts {
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
    }
}
