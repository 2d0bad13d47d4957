//! A program that plays one end of a conversation.

use tinygram_engine::{Duration, Instant};
use tinygram_sim::program::{Call, Outcome, Program};

use crate::conversation::Act;

/// Plays the acts of one end, and notes when it wrote and read.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    acts: Vec<Act>,
    /// The octets that the other end writes in all.
    expects: u64,
    /// Whether the run ends when everything has been read.
    stops: bool,
    /// `TCP_NODELAY` is set before the first act.
    nodelay: bool,
    next: usize,
    read: u64,
    /// When the last read or write ended.
    since: Instant,
    /// When each act had been done.
    pub(crate) wrote: Vec<Instant>,
    /// What had been read, and when.
    pub(crate) reads: Vec<(Instant, u64)>,
}

impl Player {
    pub(crate) fn new(acts: Vec<Act>, expects: u64, stops: bool, nodelay: bool) -> Self {
        Self {
            wrote: Vec::with_capacity(acts.len()),
            acts,
            expects,
            stops,
            nodelay,
            next: 0,
            read: 0,
            since: Instant::ZERO,
            reads: Vec::new(),
        }
    }

    /// Returns when this many octets had been read.
    pub(crate) fn had_read(&self, octets: u64) -> Option<Instant> {
        let index = self.reads.partition_point(|(_, read)| *read < octets);
        Some(self.reads.get(index)?.0)
    }
}

impl Program for Player {
    fn next(&mut self, now: Instant, last: Outcome) -> Call {
        match last {
            Outcome::Gone | Outcome::Read(0) => return Call::Stop,
            Outcome::Read(octets) => {
                let awaited = self
                    .acts
                    .get(self.next)
                    .map_or(self.expects, |act| act.after);
                // What is read beyond what was waited for starts no gap.
                if self.read < awaited {
                    self.since = now;
                }
                self.read += octets;
                self.reads.push((now, self.read));
            }
            Outcome::Wrote(_) => {
                self.since = now;
                self.wrote.push(now);
                self.next += 1;
            }
            _ => {}
        }
        if std::mem::take(&mut self.nodelay) {
            return Call::NoDelay(SOCKET, true);
        }
        match self.acts.get(self.next) {
            Some(act) if self.read >= act.after => self.write_when_due(*act, now),
            None if self.read >= self.expects && self.stops => Call::Stop,
            _ => Call::Read {
                socket: SOCKET,
                max: u64::MAX,
            },
        }
    }
}

impl Player {
    fn write_when_due(&self, act: Act, now: Instant) -> Call {
        let due = self.since + Duration::from_nanos(act.gap_ns);
        let left = due.since(now);
        match left.as_nanos() {
            0 => Call::Write {
                socket: SOCKET,
                len: act.length,
                more: act.more,
            },
            // A program that does nothing for so long sleeps.
            SLEEP_NS.. => Call::Sleep(left),
            _ => Call::Compute(left),
        }
    }
}

const SOCKET: u32 = 0;
const SLEEP_NS: u64 = 1_000_000;
