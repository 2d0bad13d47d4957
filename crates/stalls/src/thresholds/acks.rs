//! When an acknowledgment is late, and when its receiver has delayed it.

use core::ops::RangeInclusive;

use super::origin::Origin;

thresholds! {
    ACKS;

    /// An acknowledgment that took this much longer than the path is worth a question. The shortest
    /// delayed-ACK timer in use is this long: Windows Server's, in its profile for data centres.
    LATE_ACK_NS: i64 = 10_000_000, Nanoseconds,
        Origin::Kernel("Windows Server, DelayedAckTimeout of the profile Datacenter");
    /// An acknowledgment that took less than this beyond the path accuses nobody. Slow hosts
    /// acknowledge after 10 to 20 ms without any timer, so the shortest timers (10 ms) cannot be
    /// told from them. Most timers take 40 ms or more; the tick of a cyclic one may fall earlier,
    /// and such a stall costs least.
    LEAST_DELAY_NS: i64 = 20_000_000, Nanoseconds,
        Origin::Assumed("half of the shortest common timer, 40 ms (Linux, TCP_DELACK_MIN)");
    /// No acknowledgment may be delayed for longer.
    LONGEST_DELAY_NS: i64 = 500_000_000, Nanoseconds, Origin::Rfc("1122, section 4.2.3.2");
    /// ACKs of one flight that are no further apart are taken in together; those further apart
    /// reach a sender separately.
    ACKS_TOGETHER_NS: i64 = 200_000, Nanoseconds,
        Origin::Assumed("a host takes in what its card has gathered within some 100 us");
    /// So many late ACKs show how long a receiver's own timer takes.
    OWN_TIMER_ACKS: u32 = 3, Count, Origin::Assumed("one or two may be late by accident");
    /// What came this long before an acknowledgment would have been answered before it, if at once.
    CROSSED_NS: i64 = 5_000_000, Nanoseconds,
        Origin::Assumed("as long as a busy host takes to answer at once");
}

/// The ranges of the delayed-ACK timers in use, in milliseconds: Linux 40, Solaris 50, BSD and
/// macOS 100, Windows and older BSDs 200. Each may be late by a tick or two, and the path may have
/// been faster by then.
pub const TIMERS_MS: [RangeInclusive<i64>; 3] = [33..=56, 95..=112, 185..=220];

/// Returns whether a delay beyond the path is as long as a delayed-ACK timer in use.
#[must_use]
pub fn is_on_timer(beyond_ns: i64) -> bool {
    TIMERS_MS
        .iter()
        .any(|timer| timer.contains(&(beyond_ns / 1_000_000)))
}
