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
    /// Where a receiver's timer cannot be seen, a hold that is shorter did not wait for it, but for a thread that read
    /// late. A receiver whose timer is shorter is not recognised.
    UNSEEN_TIMER_NS: i64 = 36_000_000, Nanoseconds,
        Origin::Kernel("Linux, TCP_DELACK_MIN: 40 ms, less one tick of 4 ms");
    /// The same by the kernel's figures of a socket, which are coarse by another tick.
    UNSEEN_TIMER_COARSELY_NS: i64 = 32_000_000, Nanoseconds,
        Origin::Kernel("Linux, TCP_DELACK_MIN: 40 ms, less two ticks of 4 ms");
    /// The least wait of a write that the kernel's figures of a socket show: they count milliseconds, but move only at
    /// ticks.
    COARSE_WAIT_NS: i64 = 5_000_000, Nanoseconds, Origin::Kernel("Linux, tcpi_last_data_sent: a tick of 4 ms, and 1 ms");
    /// The least hold that `watch` reports by itself; shorter ones are counted.
    REPORTED_HOLD_NS: i64 = 1_000_000, Nanoseconds, Origin::Assumed("a reader notices no less, and reports cost time");
    /// An acknowledgment that leaves so long after its data is late.
    REPORTED_LATE_ACK_NS: i64 = 15_000_000, Nanoseconds, Origin::Assumed("less than half of the shortest common timer, more than a busy host takes");
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
