//! Whose turn it is: pauses, answers, and clocks of a program's own.

use super::origin::Origin;

thresholds! {
    TURNS;

    /// What a sender has ready leaves within this time, but for what the link takes. After a longer
    /// pause it has begun anew.
    BURST_NS: i64 = 5_000_000, Nanoseconds, Origin::Assumed("longer than hosts take between two writes of one burst");
    /// An answer within this time, or four times the path, answers the segment before it.
    ANSWER_AT_ONCE_NS: i64 = 5_000_000, Nanoseconds, Origin::Assumed("programs that only look something up");
    /// A peer that has spoken once for more turns than so many that a sender began by itself answers none of them as a rule.
    UNANSWERED_TURNS: u32 = 2, Ratio, Origin::Assumed("who answers speaks once for each, or for a header and its body");
    /// Writes closer together than this would be merged by any policy that waits for the writer to
    /// block.
    MERGE_NS: i64 = 10_000_000, Nanoseconds, Origin::Assumed("less than a delayed ACK, more than a burst");
    /// Data that was ready when the trigger left needs one hold, and a strict Nagle a second for the
    /// last piece. So many in one turn: the sender writes as it goes.
    STREAM_HOLDS: usize = 3, Count, Origin::Rfc("896: one hold for each ACK");
    /// A sender that sends small segments so often while small ones are unacknowledged holds none.
    DEFIES_OFTEN: u32 = 3, Count, Origin::Assumed("once or twice may be a window's or an option's doing");
    /// A sender that sends so many right behind a held one holds none.
    DEFIES_BEHIND: u32 = 2, Count, Origin::Assumed("one may have met an ACK on its way");
    /// A wait for a plain round trip that is shorter goes unnoticed.
    NOTICED_WAIT_NS: i64 = 25_000_000, Nanoseconds, Origin::Assumed("a person notices 100 ms, a protocol of four turns 25");
    /// A round trip that an idle restart adds is not mentioned below this.
    NOTICED_RESTART_NS: i64 = 5_000_000, Nanoseconds, Origin::Assumed("a fifth of NOTICED_WAIT_NS: a restart adds several");
    /// So many short segments right after each other are no message's pieces.
    LONG_RUN: u32 = 16, Count, Origin::Assumed("messages are written in fewer pieces");
    /// A clock that goes back by more than this is another clock, not a queue that lags.
    CLOCK_STEP_NS: i64 = 1_000_000_000, Nanoseconds, Origin::Assumed("a hundred times QUEUE_LAG_NS");
    /// Queues of one host lag less behind each other.
    QUEUE_LAG_NS: i64 = 10_000_000, Nanoseconds, Origin::Assumed("a card's ring is emptied every few milliseconds");
    /// A frame passes two capture points of a host or a switch within this time. No sender repeats
    /// itself so soon.
    COPY_NS: i64 = 500_000, Nanoseconds, Origin::Assumed("less than a round trip on any network but the host's own");
    /// The same, if the packet's own number (IPv4's identification) identifies it.
    NUMBERED_COPY_NS: i64 = 20_000_000, Nanoseconds, Origin::Assumed("a router or a tunnel takes no longer");
    /// So many packet numbers in steps of one are a habit.
    NUMBER_STEPS: u8 = 2, Count, Origin::Assumed("random numbers do so once in 2^32");
}
