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
    /// An acknowledgment that took longer was late for another reason than a receiver's timer: such a timer and a second
    /// delay, of a host that slept, are less.
    LONGEST_WAIT_NS: i64 = 1_000_000_000, Nanoseconds, Origin::Assumed("twice LONGEST_DELAY_NS");
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

/// A delayed-ACK timer in use. Each may be late by a tick or two, and the path may have been faster by then.
#[derive(Clone, Debug)]
pub struct AckTimer {
    /// How late its acknowledgments come, in milliseconds beyond the path.
    pub range_ms: RangeInclusive<i64>,
    /// Where the range is from.
    pub origin: Origin,
}

/// The delayed-ACK timers in use, the shortest first. They stand for the receiver's own timer where that cannot be read
/// or seen: in a capture, and of a receiver on another host.
pub static ACK_TIMERS: [AckTimer; 3] = [
    AckTimer {
        range_ms: 33..=56,
        origin: Origin::Kernel(
            "Linux, TCP_DELACK_MIN: 40 ms; Solaris, tcp_deferred_ack_interval: 50 ms",
        ),
    },
    AckTimer {
        range_ms: 95..=112,
        origin: Origin::Kernel("FreeBSD and macOS, net.inet.tcp.delacktime: 100 ms"),
    },
    AckTimer {
        range_ms: 185..=220,
        origin: Origin::Kernel("Windows, TcpDelAckTicks: 200 ms; BSD's fast timer: 200 ms"),
    },
];

/// Returns whether a delay beyond the path is as long as a delayed-ACK timer in use.
#[must_use]
pub fn is_on_timer(beyond_ns: i64) -> bool {
    let beyond_ms = beyond_ns / 1_000_000;
    let mut timers = ACK_TIMERS.iter();
    timers.any(|timer| timer.range_ms.contains(&beyond_ms))
}

/// Returns the shortest delay of the timers in use, in nanoseconds.
#[must_use]
pub fn shortest_timer_ns() -> i64 {
    let shortest_ms = ACK_TIMERS.iter().map(|timer| *timer.range_ms.start());
    shortest_ms.min().unwrap_or(0) * 1_000_000
}
