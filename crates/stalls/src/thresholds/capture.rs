//! What a capture must show before "no stalls" can be said.

use super::origin::Origin;

thresholds! {
    CAPTURE;

    /// A queue or a clock of milliseconds may well take a shorter time twice.
    LONG_GAP_NS: i64 = 5_000_000, Nanoseconds, Origin::Assumed("five steps of a clock of milliseconds");
    /// The most frames that a clock of milliseconds may stamp alike.
    STILL_FRAMES: u64 = 50, Count, Origin::Assumed("a burst of 50 frames fits into a millisecond");
    /// Fewer gaps between frames may all be equal by accident.
    MANY_GAPS: u64 = 10, Count, Origin::Assumed("an accident for a clock of microseconds");
    /// Fewer gaps in the data than this are ignored.
    FEW_GAPS: u64 = 3, Count, Origin::Assumed("kernels drop a frame now and then");
    /// A time that loss, a closed window or a server took is not mentioned if it is shorter.
    DOMINANT_LEAST_NS: i64 = 10_000_000, Nanoseconds, Origin::Assumed("as long as LATE_ACK_NS: what is shorter nobody takes for a stall");
    /// A clock whose times are all multiples of this is too coarse to show a delayed ACK.
    COARSE_CLOCK_NS: i64 = 10_000_000, Nanoseconds, Origin::Assumed("as long as LATE_ACK_NS");
    /// Fewer times may all be round ones by accident.
    MANY_TIMES: u64 = 10, Count, Origin::Assumed("an accident for a clock of microseconds");
}
