//! What a finding says: each kind has its words in a file of its own.

use tinygram_stalls::Kind;

use super::finding::Finding;
use super::said::Words;
use super::{
    buffer_tearing, cork_held, idle_restart, nagle_round_trip, odd_full_short_final,
    short_initial_segment, slow_start_delayed_ack, small_buffer, tinygram_flood, write_write_read,
};

impl Finding {
    /// Returns the reasons for the finding, one sentence each.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        (words(self.kind).evidence)(self)
    }

    /// Returns what the sender does: a verb phrase for the first sentence.
    #[must_use]
    pub fn habit(&self) -> String {
        (words(self.kind).habit)(self)
    }
}

fn words(kind: Kind) -> &'static Words {
    match kind {
        Kind::WriteWriteRead => &write_write_read::WORDS,
        Kind::OddFullShortFinal => &odd_full_short_final::WORDS,
        Kind::ShortInitialSegment => &short_initial_segment::WORDS,
        Kind::BufferTearing => &buffer_tearing::WORDS,
        Kind::SmallBuffer => &small_buffer::WORDS,
        Kind::SlowStartDelayedAck => &slow_start_delayed_ack::WORDS,
        Kind::IdleRestart => &idle_restart::WORDS,
        Kind::CorkHeld => &cork_held::WORDS,
        Kind::NagleRoundTrip => &nagle_round_trip::WORDS,
        Kind::TinygramFlood => &tinygram_flood::WORDS,
    }
}
