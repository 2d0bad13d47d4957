//! Makes a service for [`tinygram_whatif`] of what was recorded.

use std::time::Duration;

use tinygram_host::clock::tick;
use tinygram_host::hand::SocketOption;
use tinygram_host::recorder::{Did, Step};
use tinygram_whatif::conversation::{Conversation, of_both_ends};
use tinygram_whatif::guess::Guess;
use tinygram_whatif::pacing::Pacing;
use tinygram_whatif::prediction::{Service, Subject};
use tinygram_whatif::rules::Rules;
use tinygram_whatif::seen::{End, Read, Sent, Unwrapper, Write};

use super::{Recorded, RecordedConnection, RecordedEnd};

/// What to make conversations of.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Which ends a change is for.
    pub is_meant: &'a dyn Fn(&RecordedEnd) -> bool,
    /// At which ends turns are measured, as a trial does; if `None`, answers are. A connection without such an end is left
    /// out.
    pub is_measured: Option<&'a dyn Fn(&RecordedEnd) -> bool>,
}

impl Recorded {
    /// Returns the conversations that were seen whole enough to be played again: one service if both ends of them were
    /// seen, else one for each guess about the ends that were not.
    #[must_use]
    pub fn services(&self, wanted: Wanted<'_>) -> Vec<Service> {
        let of = |subjects: Vec<Subject>| Service {
            subjects,
            tick_ns: nanoseconds(tick()),
            seed: wanted.seed,
        };
        let connections = self.connections.iter();
        let both: Vec<Subject> = connections
            .clone()
            .filter_map(|one| self.both_ends(one, wanted))
            .collect();
        if !both.is_empty() {
            return vec![of(both)];
        }
        let Some(min_rtt_ns) = connections
            .clone()
            .filter_map(RecordedConnection::min_rtt_ns)
            .min()
        else {
            return Vec::new();
        };
        let guessed = Guess::all(min_rtt_ns).into_iter().map(|guess| {
            let subjects = connections.clone();
            of(subjects
                .filter_map(|one| self.one_end(one, guess, wanted))
                .collect())
        });
        guessed.collect()
    }

    fn both_ends(&self, connection: &RecordedConnection, wanted: Wanted<'_>) -> Option<Subject> {
        let [Some(asker), Some(answerer)] = &connection.ends else {
            return None;
        };
        let first = [asker.steps.first()?, answerer.steps.first()?];
        // Each direction has a beginning that both ends share.
        let around = [first[0].written, first[1].written];
        let seen = [
            end(&asker.steps, around[0], around[1]),
            end(&answerer.steps, around[1], around[0]),
        ];
        let is_whole = first.iter().all(|step| step.data_segs_out <= 1);
        let ends = [asker, answerer];
        let conversation = of_both_ends([&seen[0], &seen[1]], mss(first[0]), is_whole)?;
        Some(Subject {
            conversation: wanted.measured(conversation, ends.map(Some))?,
            rules: ends.map(|end| self.rules(end)),
            meant: ends.map(wanted.is_meant),
            netns: ends.map(|end| end.socket.netns),
        })
    }

    fn one_end(
        &self,
        connection: &RecordedConnection,
        guess: Guess,
        wanted: Wanted<'_>,
    ) -> Option<Subject> {
        let place = connection.ends.iter().position(Option::is_some)?;
        let here = connection.ends[place].as_ref()?;
        let first = here.steps.first()?;
        let seen = end(&here.steps, first.written, first.copied);
        let other = guess.other_end(&seen);
        let (mut ends, mut rules) = ([&seen, &other], [self.rules(here), guess.rules()]);
        let (mut meant, mut netns) = ([(wanted.is_meant)(here), false], [here.socket.netns, 0]);
        if place == 1 {
            ends.reverse();
            rules.reverse();
            meant.reverse();
            netns.reverse();
        }
        let conversation = of_both_ends(ends, mss(first), first.data_segs_out <= 1)?;
        Some(Subject {
            conversation: wanted.measured(conversation, connection.recorded())?,
            rules,
            meant,
            netns,
        })
    }

    fn rules(&self, end: &RecordedEnd) -> Rules {
        let bound = tick() * end.socket.values[SocketOption::DelackMax].number();
        let shipped = Rules::default();
        Rules {
            nodelay: end
                .steps
                .last()
                .map_or(end.socket.nodelay(), |step| step.nodelay),
            delack_max: match bound.is_zero() {
                true => shipped.delack_max,
                false => tinygram_whatif::engine_time(bound),
            },
            pingpong: (self.pingpong.get(&end.socket.netns).copied()).unwrap_or(shipped.pingpong),
            pacing: pacing(end),
            ..shipped
        }
    }
}

impl Wanted<'_> {
    /// Returns the conversation with the turns that are wanted; `None` if they are those of an end that was not seen.
    fn measured(
        &self,
        conversation: Conversation,
        ends: [Option<&RecordedEnd>; 2],
    ) -> Option<Conversation> {
        let Some(is_measured) = self.is_measured else {
            return Some(conversation);
        };
        let end = ends.iter().position(|end| end.is_some_and(is_measured))?;
        Some(conversation.measured_at(end))
    }
}

impl RecordedConnection {
    fn recorded(&self) -> [Option<&RecordedEnd>; 2] {
        [self.ends[0].as_ref(), self.ends[1].as_ref()]
    }

    /// Returns the shortest round-trip time that the kernel has measured, in nanoseconds.
    fn min_rtt_ns(&self) -> Option<u64> {
        let steps = self.ends.iter().flatten().flat_map(|end| &end.steps);
        let measured = steps.filter(|step| !matches!(step.min_rtt_us, 0 | u32::MAX));
        measured.map(|step| u64::from(step.min_rtt_us) * 1000).min()
    }
}

/// Returns the rates at which segments left an end.
fn pacing(end: &RecordedEnd) -> Option<Pacing> {
    let sent = end.steps.iter().filter(|step| step.did == Did::Sent);
    let rates: Vec<Option<u64>> = sent.map(|step| step.pacing_rate).collect();
    let congestion = end.socket.values[SocketOption::Congestion];
    Pacing::of(&rates, SocketOption::Congestion.show(&congestion) == BBR)
}

/// Returns the octets of data in a full segment; one of the loopback device may be longer than the type can say.
fn mss(step: &Step) -> u16 {
    u16::try_from(step.mss).unwrap_or(MOST_MSS)
}

/// Sorts what was seen at an end. `own` and `peers` are sequence numbers of the two directions.
fn end(steps: &[Step], own: u32, peers: u32) -> End {
    let mut end = End::default();
    let [mut written, mut left] = [Unwrapper::around(own); 2];
    let mut copied = Unwrapper::around(peers);
    let mut last_read_ns = None;
    let mut late_ack_ns = None;
    for step in steps {
        let (at_ns, length) = (step.at_ns, u64::from(step.length));
        let read_until = copied.offset(step.copied);
        match step.did {
            Did::Wrote { more } => end.writes.push(Write {
                at_ns,
                length,
                end: written.offset(step.written),
                read_until,
                more,
            }),
            Did::Read => {
                last_read_ns = Some(at_ns);
                end.reads.push(Read {
                    at_ns,
                    length,
                    end: read_until,
                    late_ack_ns: late_ack_ns.take(),
                });
            }
            Did::Sent => {
                late_ack_ns = None;
                end.sent.push(Sent {
                    at_ns,
                    length,
                    end: left.offset(step.written),
                });
            }
            Did::Acknowledged => {
                let waited =
                    last_read_ns.is_some_and(|read_ns| at_ns.saturating_sub(read_ns) >= LATE_NS);
                // The read itself may send one for what came upon the first.
                late_ack_ns = late_ack_ns.or(waited.then_some(at_ns));
            }
        }
    }
    end
}

const BBR: &str = "bbr";
/// With timestamps it is still a length that a segment can have.
const MOST_MSS: u16 = u16::MAX - 12;
/// An acknowledgment that leaves so long after a read had waited for a timer.
const LATE_NS: u64 = 2_000_000;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn step(at_ms: u64, did: Did) -> Step {
        Step {
            cookie: 1,
            at_ns: at_ms * MS,
            did,
            length: 100,
            written: 1,
            sent: 1,
            acknowledged: 1,
            copied: 1,
            data_segs_out: 0,
            segs_out: 0,
            min_rtt_us: 0,
            mss: 1448,
            cwnd: 10,
            nodelay: false,
            pacing_rate: None,
        }
    }

    /// A read acknowledges what it brings before it is reported as ended: the acknowledgment that let this go is the one before.
    #[test]
    fn what_let_data_go_is_the_first_late_acknowledgment_before_its_read() {
        let steps = [
            step(0, Did::Read),
            step(40, Did::Acknowledged),
            step(41, Did::Acknowledged),
            step(41, Did::Read),
            step(42, Did::Acknowledged),
            step(43, Did::Read),
        ];
        let late: Vec<_> = end(&steps, 1, 1)
            .reads
            .iter()
            .map(|read| read.late_ack_ns)
            .collect();
        assert_eq!(late, [None, Some(40 * MS), None]);
    }
}
