//! What a live host shows: the kernel's own reports and counts.

use super::origin::Origin;

thresholds! {
    LIVE;

    /// At least one answer in this many holds makes a conversation; fewer answers are chance.
    LEAST_ANSWERS_IN: u32 = 8, Count, Origin::Assumed("a reporter is answered more seldom");
    /// The time that a host needs to react, or that a timer may be late.
    REACTION_NS: i64 = 5_000_000, Nanoseconds, Origin::Assumed("a busy host's scheduler");
    /// An acknowledgment releases held data at once; this allows for a busy host.
    SAME_EVENT_NS: i64 = 20_000_000, Nanoseconds, Origin::Assumed("half of the shortest common timer");
    /// Two processors may report a timer and the segment that it released in the other order.
    TIMER_SEEN_LATE_NS: i64 = 1_000_000, Nanoseconds, Origin::Assumed("an interrupt on another processor");
    /// If more segments are unacknowledged, other acknowledgments come before the last one.
    MOST_SEGMENTS_BEFORE: u32 = 8, Count, Origin::Rfc("1122, section 4.2.3.2: an ACK for every second segment");
    /// Below this share of the MSS a segment could have carried several times as much.
    SMALL_SHARE: f64 = 0.25, Ratio, Origin::Assumed("a quarter");
    /// Fewer segments prove nothing by their counts.
    ENOUGH_SEGMENTS: u32 = 16, Count, Origin::Assumed("eight exchanges of two");
    /// Segments per answer; one per message is the optimum.
    SEVERAL_PER_ANSWER: f64 = 1.5, Ratio, Origin::Assumed("half of the messages in two");
    /// How many times the path's own time a segment that waits is on its way.
    WAITING_ROUND_TRIPS: f64 = 2.0, Ratio, Origin::Assumed("a round trip and a little work");
    /// How much longer than that. A stall of 40 ms spread over an exchange of two or three segments is
    /// 13 to 20 ms per segment.
    LEAST_WAIT_NS: i64 = 5_000_000, Nanoseconds, Origin::Assumed("a third of 13 ms");
}
