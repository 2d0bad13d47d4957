//! What makes a flood.

use super::origin::Origin;

thresholds! {
    FLOODS;

    /// Fewer segments that could have shared one are not a flood.
    FLOOD_LEAST_MERGEABLE: u32 = 50, Count, Origin::Assumed("a flood is a habit, not an event");
    /// Less than this share of the segments could have shared one: no flood.
    FLOOD_LEAST_SHARE: f64 = 0.5, Ratio, Origin::Assumed("most of the segments");
    /// Segments that could have shared one come at least as fast in a flood.
    FLOOD_LEAST_PER_SECOND: f64 = 40.0, PerSecond, Origin::Assumed("one for each tick of a 25 ms clock");
    /// Or they come as many for each pause.
    FLOOD_LEAST_PER_RUN: f64 = 4.0, Ratio, Origin::Assumed("a message in five pieces");
    /// As many times the segments needed, or fewer, are a remark and no flood.
    FLOOD_LEAST_FACTOR: f64 = 2.0, Ratio, Origin::Assumed("two writes for a message take twice its packets");
    /// What was seen for less time is taken to have lasted this long.
    FLOOD_LEAST_SECONDS: f64 = 0.1, Seconds, Origin::Assumed("rates over less mean nothing");
    /// A flood carries more headers than payload.
    FLOOD_LEAST_OVERHEAD_PERCENT: f64 = 100.0, Percent, Origin::Paper("Davids 2000: overhead relative to payload");
    /// The payload of a tiny segment, on average: less than the headers that carry it.
    FLOOD_TINY_BYTES: u64 = 64, Bytes, Origin::Paper("Davids 2000: 78 bytes carry it");
    /// What a data segment costs besides its payload: 8 preamble, 14 Ethernet, 20 IP, 20 TCP, 4
    /// trailer, 12 gap.
    DATA_OVERHEAD_BYTES: u32 = 78, Bytes, Origin::Paper("Davids 2000");
    /// What an acknowledgment without data costs: padded by 6 more.
    ACK_OVERHEAD_BYTES: u32 = 84, Bytes, Origin::Paper("Davids 2000");
}
