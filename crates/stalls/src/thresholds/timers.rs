//! Retransmission timers, and tails that a timer lets go.

use super::origin::Origin;

thresholds! {
    TIMERS;

    /// The least retransmission timeout of Linux, and the shortest in common use. A shorter silence
    /// cuts no congestion window.
    RTO_MIN_NS: i64 = 200_000_000, Nanoseconds, Origin::Kernel("Linux, TCP_RTO_MIN");
    /// The least retransmission timeout of the standard.
    STANDARD_RTO_NS: i64 = 1_000_000_000, Nanoseconds, Origin::Rfc("6298, section 2.4");
    /// One tick of the kernel's timers, at 250 ticks a second.
    TICK_NS: i64 = 4_000_000, Nanoseconds, Origin::Kernel("Linux, CONFIG_HZ=250");
    /// The shortest tick in use: a timer is rounded up to it.
    SHORTEST_TICK_NS: i64 = 1_000_000, Nanoseconds, Origin::Kernel("Linux, CONFIG_HZ=1000");
    /// A tail loss probe comes no sooner beyond two smoothed round trips.
    PROBE_LEAST_NS: i64 = 2_000_000, Nanoseconds,
        Origin::Kernel("Linux, TCP_TIMEOUT_MIN: two ticks, at 1000 ticks a second");
    /// A probe behind a single segment waits for so much longer, because its ACK may be delayed.
    PROBE_ALONE_NS: i64 = 200_000_000, Nanoseconds, Origin::Rfc("8985, section 7.2: TLP.max_ack_delay");
    /// What delayed ACKs can add to a smoothed round trip.
    LATE_ROUND_TRIP_NS: i64 = 80_000_000, Nanoseconds,
        Origin::Assumed("twice the delayed-ACK timer of Linux");
    /// A wait shorter than this is no retransmission timer's.
    LEAST_TAIL_NS: i64 = 190_000_000, Nanoseconds,
        Origin::Kernel("Linux, TCP_RTO_MIN, early by two ticks and more");
    /// A wait longer than this is no retransmission timer's before it backs off.
    LONGEST_TAIL_NS: i64 = 1_100_000_000, Nanoseconds,
        Origin::Rfc("6298, section 2.4: a second, and a tenth for the path");
    /// Tails of one timer differ by less.
    SAME_TAIL_NS: i64 = 1_000_000, Nanoseconds, Origin::Assumed("a quarter of a tick");
    /// So many tails in a row that wait as long as the one before are a timer's: a disk is not so
    /// punctual.
    SAME_TAILS: u8 = 2, Count, Origin::Assumed("one in a row may be an accident");
    /// So many messages that begin as late as a retransmission timer ends may have been corked as a whole. One or two
    /// may be a program's pause.
    TIMED_MESSAGES: u32 = 3, Count, Origin::Assumed("as many as SAME_TAILS asks for");
    /// A kernel's timer is as punctual as this.
    PUNCTUAL_NS: i64 = 2_500_000, Nanoseconds, Origin::Assumed("about half a tick of 4 ms");
    /// So many needless retransmissions, and no others, tell of a receiver that delays its ACKs for
    /// longer than the sender's timer takes: one in three, three times in a row, is less than one
    /// accident in twenty.
    NEEDLESS_RETRANSMISSIONS: u32 = 3, Count, Origin::Assumed("(1/3)^3 < 1/20");
}
