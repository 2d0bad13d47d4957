//! The measure of a flood: many short segments close together that a few segments could have
//! carried. They cost packets, interrupts and header bytes instead of stalls.

use crate::thresholds::{
    ACK_OVERHEAD_BYTES, DATA_OVERHEAD_BYTES, FLOOD_LEAST_FACTOR, FLOOD_LEAST_MERGEABLE,
    FLOOD_LEAST_OVERHEAD_PERCENT, FLOOD_LEAST_PER_RUN, FLOOD_LEAST_PER_SECOND, FLOOD_LEAST_SECONDS,
    FLOOD_LEAST_SHARE, FLOOD_TINY_BYTES,
};

/// What was counted of one sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Data segments.
    pub segments: u32,
    /// Data segments below the MSS.
    pub short: u32,
    /// Payload, in bytes.
    pub bytes: u64,
    /// Acknowledgments without data for it.
    pub acks: u32,
    /// Short segments that could have shared one with the short segment before.
    pub mergeable: u32,
    /// Their payload, in bytes.
    pub mergeable_bytes: u64,
    /// Runs of short segments, each of one segment or more.
    pub runs: u32,
    /// Short segments in long runs, in which each follows the one before at once.
    pub in_long_runs: u32,
    /// Their payload, in bytes.
    pub long_run_bytes: u64,
    /// How long it was watched, in nanoseconds.
    pub lasted_ns: i64,
    /// The largest payload of a segment, in bytes.
    pub mss: u32,
    /// Header bytes of each packet beyond Davids' forty: timestamps and IPv6.
    pub extra_bytes: u32,
}

/// The size of a flood.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Mergeable segments per run.
    pub per_run: f64,
    /// The share of the segments that is mergeable.
    pub share: f64,
    /// How many times as many segments as needed were sent.
    pub factor: f64,
    /// Whether it is a flood by its runs of tiny segments alone, between large ones.
    pub is_tiny: bool,
}

impl Flood {
    /// Returns whether it is worth an accusation. Twice the segments, or less, is worth a remark: it is what two
    /// writes for a message take.
    #[must_use]
    pub fn accuses(&self) -> bool {
        self.is_tiny || self.factor > FLOOD_LEAST_FACTOR
    }
}

impl Counts {
    /// Returns the flood that was counted, if it is one: the data of most segments could have
    /// shared another segment, the segments come fast or many for each answer, and they carry more
    /// headers than payload. Between large segments, runs of tiny ones are a flood alone.
    #[must_use]
    pub fn flood(&self) -> Option<Flood> {
        if self.mergeable < FLOOD_LEAST_MERGEABLE {
            return None;
        }
        let seconds = self.lasted_ns as f64 / 1e9;
        let per_second = f64::from(self.mergeable) / seconds.max(FLOOD_LEAST_SECONDS);
        let per_run = f64::from(self.mergeable) / f64::from(self.runs.max(1));
        let share = f64::from(self.mergeable) / f64::from(self.segments);
        let tiny = self.in_long_runs >= FLOOD_LEAST_MERGEABLE
            && self.long_run_bytes <= u64::from(self.in_long_runs) * FLOOD_TINY_BYTES;
        let fast = per_second >= FLOOD_LEAST_PER_SECOND || per_run >= FLOOD_LEAST_PER_RUN;
        if !tiny && (share < FLOOD_LEAST_SHARE || !fast) {
            return None;
        }
        let overhead_percent = self.overhead_percent(self.segments, self.acks);
        if !tiny && overhead_percent < FLOOD_LEAST_OVERHEAD_PERCENT {
            return None;
        }
        let still = (self.mergeable_bytes / u64::from(self.mss)) as u32;
        let saved = self.mergeable.saturating_sub(still);
        // ACKs are saved in the same proportion as the segments they cover.
        let kept = self.segments - saved;
        let acks = f64::from(self.acks) * f64::from(kept) / f64::from(self.segments);
        Some(Flood {
            segments: self.segments,
            short: self.short,
            bytes: self.bytes,
            saved,
            overhead_percent,
            coalesced_percent: self.overhead_percent(kept, acks as u32),
            per_second,
            per_run,
            share,
            factor: f64::from(self.segments) / f64::from(kept.max(1)),
            is_tiny: tiny,
        })
    }

    /// Returns the header and framing bytes of so many data segments and acknowledgments, in
    /// percent of the payload (Davids 2000).
    #[must_use]
    pub fn overhead_percent(&self, segments: u32, acks: u32) -> f64 {
        let bytes = overhead_bytes(segments.into(), acks.into(), self.extra_bytes.into());
        100.0 * bytes as f64 / self.bytes as f64
    }
}

/// Returns the header and framing bytes of so many data segments and acknowledgments without data, each with so many
/// `extra` header bytes (Davids 2000).
#[must_use]
pub const fn overhead_bytes(segments: u64, acks: u64, extra: u64) -> u64 {
    segments * (DATA_OVERHEAD_BYTES as u64 + extra) + acks * (ACK_OVERHEAD_BYTES as u64 + extra)
}
