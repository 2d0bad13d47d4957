//! What a finding says: the law has the words for what its sender does, and each kind has a file with its reasons.

use tinygram_stalls::{Kind, habit};

use super::finding::{Facts, Finding};
use super::{
    buffer_tearing, cork_held, idle_restart, nagle_round_trip, odd_full_short_final,
    short_initial_segment, slow_start_delayed_ack, small_buffer, tinygram_flood, write_write_read,
};

impl Finding {
    /// Returns what the sender does: a verb phrase for the first sentence.
    #[must_use]
    pub fn habit(&self) -> String {
        match &self.facts {
            Facts::Hold(_) => habit(&self.case()),
            Facts::Flood(flood) => flood.habit(),
        }
    }

    /// Returns how it comes about: whole sentences, which name the rules.
    #[must_use]
    pub fn mechanism(&self) -> &'static str {
        self.kind.mechanism()
    }

    /// Returns the reasons for the finding, one sentence each.
    #[must_use]
    pub fn evidence(&self) -> Vec<String> {
        let evidence = match self.kind {
            Kind::WriteWriteRead => write_write_read::evidence,
            Kind::OddFullShortFinal => odd_full_short_final::evidence,
            Kind::ShortInitialSegment => short_initial_segment::evidence,
            Kind::BufferTearing => buffer_tearing::evidence,
            Kind::SmallBuffer => small_buffer::evidence,
            Kind::SlowStartDelayedAck => slow_start_delayed_ack::evidence,
            Kind::IdleRestart => idle_restart::evidence,
            Kind::CorkHeld => cork_held::evidence,
            Kind::NagleRoundTrip => nagle_round_trip::evidence,
            Kind::TinygramFlood => tinygram_flood::evidence,
        };
        evidence(self)
    }
}
