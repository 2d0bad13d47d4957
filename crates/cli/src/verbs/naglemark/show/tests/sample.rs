//! Made-up cells with the shape of real ones, for the tests.
//!
//! The delayed lengths follow the paper's Table 1 predicate, so figures look as they should; the
//! numbers claim nothing about any stack.

use tinygram_naglemark::{Duration, MediumKind, Sample, Yardstick};

use super::super::{Cutoff, KeptTransfers, Panel, Record};

/// Variant, share of the predicate's lengths that stall, and data segments relative to the fewest.
const VARIANTS: [(&str, u64, f64); 5] = [
    ("NAGLE", 100, 1.0),
    ("OFF", 0, 1.36),
    ("MINSHALL", 18, 1.12),
    ("E+M+D", 0, 1.02),
    ("flush-on-block", 0, 1.0),
];

pub(super) fn panels() -> Vec<Panel> {
    vec![panel(MediumKind::Ethernet, 4), panel(MediumKind::Fddi, 5)]
}

fn panel(medium: MediumKind, number: u8) -> Panel {
    let mss = medium.usual_mss();
    let yardstick = Yardstick {
        medium,
        wire: Some(medium.wire()),
        rtt: Duration::ZERO,
        mss,
        multiplier: 3,
    };
    let (medium, mss) = (medium.name(), u64::from(mss));
    let cutoff = Cutoff::of(&yardstick);
    let mut panel = Panel {
        title: format!("Table {number}: scores for {medium} (MSS = {mss})"),
        cells: Vec::new(),
        notes: vec!["Known mismatch: E+M 128K/64K s, cross-traffic in the paper.".into()],
        yardstick,
        ack_delay: Duration::from_millis(200),
        traces: Vec::new(),
    };
    for (variant, stalling, over_fewest) in VARIANTS {
        for app_buffer in [4096, 32_768, 131_072] {
            for socket_buffer in [16_384, 65_536, 131_072] {
                for trial in ['s', 'S', 'r', 'R'] {
                    let key = app_buffer / 4096 + socket_buffer / 8192 + trial as u64;
                    let transfers = transfers(cutoff, mss, stalling, key);
                    panel.cells.push(cell(
                        Record {
                            table: variant.chars().all(|c| c != '-').then_some(number),
                            backend: "sim".into(),
                            medium: medium.into(),
                            variant: variant.into(),
                            app_buffer,
                            socket_buffer,
                            trial,
                            segments_over_fewest: Some(over_fewest),
                            ..EMPTY
                        },
                        cutoff,
                        &transfers,
                        mss,
                    ));
                    if trial == 'S' || trial == 'R' {
                        panel.traces.push(KeptTransfers {
                            variant: variant.into(),
                            app_buffer,
                            socket_buffer,
                            trial,
                            transfers,
                            every: 1,
                            seen: Vec::new(),
                        });
                    }
                }
            }
        }
    }
    panel
}

fn cell(mut cell: Record, cutoff: Cutoff, transfers: &[Sample], mss: u64) -> Record {
    let count = transfers.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| transfers.iter().map(of).sum::<f64>() / count;
    let elapsed_ms = |t: &Sample| t.elapsed.as_nanos() as f64 / 1e6;
    cell.score_percent = mean(&|t| {
        if elapsed_ms(t) > cutoff.at_ms(t.length) {
            100.0
        } else {
            0.0
        }
    });
    cell.mean_elapsed_ms = mean(&elapsed_ms);
    cell.p99_elapsed_ms = cell.mean_elapsed_ms * 2.0;
    cell.segments_per_transfer = mean(&|t| u64::from(t.length).div_ceil(mss) as f64)
        * cell.segments_over_fewest.unwrap_or(1.0);
    cell.short_segments_per_transfer =
        Some(cell.segments_per_transfer * (cell.segments_over_fewest.unwrap_or(1.0) - 0.97));
    cell.elapsed_over_earliest = Some(1.0 + cell.score_percent / 10.0);
    cell.slope_ns_per_byte = cutoff.ns_per_byte;
    if cell.table.is_some() {
        cell.published_trial = Some('S');
        cell.published_score_percent = Some((cell.score_percent * 1.02 * 10.0).round() / 10.0);
    }
    cell
}

fn transfers(cutoff: Cutoff, mss: u64, stalling: u64, key: u64) -> Vec<Sample> {
    let mut dice = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut roll = |sides: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % sides
    };
    (1..=1000)
        .map(|step| {
            let length = if key.is_multiple_of(2) {
                1 + roll(100_000)
            } else {
                step * 100
            };
            let bare_us = (length as f64 * cutoff.ns_per_byte / 1e3) as u64 + 900 + roll(1500);
            let stalls = length >= 2 * mss && length % (2 * mss) > mss && roll(100) < stalling;
            // A free-running tick of 200 ms: a stall ends at the next one.
            let elapsed_us = if stalls {
                (roll(200_000)).max(bare_us)
            } else {
                bare_us
            };
            Sample {
                length: length as u32,
                elapsed: Duration::from_micros(elapsed_us),
            }
        })
        .collect()
}

const EMPTY: Record = Record {
    table: None,
    backend: String::new(),
    medium: String::new(),
    variant: String::new(),
    app_buffer: 0,
    socket_buffer: 0,
    trial: 'S',
    score_percent: 0.0,
    score_sd: 0.0,
    segments_per_transfer: 0.0,
    short_segments_per_transfer: Some(0.0),
    mean_elapsed_ms: 0.0,
    p99_elapsed_ms: 0.0,
    slope_ns_per_byte: 0.0,
    segments_over_fewest: Some(1.0),
    elapsed_over_earliest: Some(1.0),
    published_trial: None,
    published_score_percent: None,
};
