//! The end that was not seen. From one end the peer's think time, its delay of acknowledgments and the round trip cannot
//! be told apart: each is guessed, a guess whose replay differs from what was seen is dropped, and an answer spans those
//! that are left.

use crate::rules::Rules;
use crate::seen::{End, Read, Sent, Write};

/// What is assumed of the end that was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The round-trip time, in nanoseconds. What is not round trip of the time to an answer is thought.
    pub round_trip_ns: u64,
    /// Whether its sender held what came right behind a late acknowledgment of ours (Nagle's algorithm). Otherwise its
    /// program was slow.
    pub holds: bool,
    /// Whether it acknowledges each segment at once. Otherwise as Linux does.
    pub acknowledges_at_once: bool,
}

impl Guess {
    /// Returns the guesses that can be made if the kernel has measured a round trip of `min_rtt_ns` at least.
    #[must_use]
    pub fn all(min_rtt_ns: u64) -> Vec<Self> {
        let mut all = Vec::new();
        for round_trip_ns in round_trips(min_rtt_ns) {
            for holds in [true, false] {
                for acknowledges_at_once in [false, true] {
                    all.push(Self {
                        round_trip_ns,
                        holds,
                        acknowledges_at_once,
                    });
                }
            }
        }
        all.dedup();
        all
    }

    /// Returns what would have been seen of the other end of `here`.
    #[must_use]
    pub fn other_end(self, here: &End) -> End {
        let half = self.round_trip_ns / 2;
        let reads: Vec<Read> = here
            .sent
            .iter()
            .map(|sent| Read {
                at_ns: sent.at_ns + half,
                length: sent.length,
                end: sent.end,
                late_ack_ns: None,
            })
            .collect();
        let mut writes: Vec<Write> = Vec::new();
        let mut sent = Vec::new();
        let mut last_end = here.reads.first().map_or(0, |read| read.end - read.length);
        let first_of_ours = here.sent.first().map_or(0, |sent| sent.end - sent.length);
        for read in &here.reads {
            let at_ns = read.at_ns.saturating_sub(half);
            let had_read = |at_ns: u64| {
                let before = reads.partition_point(|read| read.at_ns <= at_ns);
                before
                    .checked_sub(1)
                    .map_or(first_of_ours, |index| reads[index].end)
            };
            let mut write = Write {
                at_ns,
                length: read.end - last_end,
                end: read.end,
                read_until: had_read(at_ns),
                more: false,
            };
            // It was written right behind what came before it, and held until our acknowledgment came.
            if let Some(last) = writes.last()
                && self.holds
                && read.follows_late_ack(self.round_trip_ns)
            {
                write.at_ns = last.at_ns + 1;
                write.read_until = last.read_until;
            }
            last_end = read.end;
            sent.push(Sent {
                at_ns,
                length: write.length,
                end: write.end,
            });
            writes.push(write);
        }
        End {
            writes,
            reads,
            sent,
        }
    }

    /// Returns the rules that the other end is assumed to have.
    #[must_use]
    pub fn rules(self) -> Rules {
        Rules {
            nodelay: !self.holds,
            quickack: self.acknowledges_at_once,
            ..Rules::default()
        }
    }
}

impl Read {
    /// Returns whether what was read arrived one round trip after an acknowledgment of ours that had waited.
    fn follows_late_ack(&self, round_trip_ns: u64) -> bool {
        let Some(late_ack_ns) = self.late_ack_ns else {
            return false;
        };
        let since = self.at_ns.saturating_sub(late_ack_ns);
        (round_trip_ns..round_trip_ns + SLACK_NS).contains(&since)
    }
}

/// Returns the round trips that are tried where it is known to be no longer than this.
pub(crate) fn round_trips(most_ns: u64) -> [u64; ROUND_TRIPS] {
    [most_ns, most_ns / 2, 0]
}

pub(crate) const ROUND_TRIPS: usize = 3;
/// How much later than a round trip after the acknowledgment it may be read.
const SLACK_NS: u64 = 2_000_000;
