//! A program that plays one end of a conversation.

use std::sync::{Arc, Mutex, PoisonError};

use tinygram_engine::{Duration, Instant};
use tinygram_sim::program::{Call, CallOutcome, Program};

use crate::conversation::Act;
use crate::lateness::{DEFERRED_NS, HostLoad, Late, Lateness};

/// Plays the acts of one end, and notes when it wrote and read.
#[derive(Clone, Debug)]
pub(crate) struct Player {
    part: Part,
    /// What both ends have written.
    line: Line,
    next: usize,
    read: u64,
    written: u64,
    /// When the program can go on: its last write ended, or it has read what it waited for.
    since: Instant,
    /// When it was woken up for the read that it is in; `None` if it did not sleep.
    woken: Option<Instant>,
    is_reading: bool,
    /// When each act had been done.
    pub(crate) wrote: Vec<Instant>,
    /// What had been read, and when.
    reads: Vec<(Instant, u64)>,
}

/// What a player does.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// 0: it asks, and the run ends when it has read everything.
    pub(crate) end: usize,
    pub(crate) acts: Vec<Act>,
    /// The octets that the other end writes in all.
    pub(crate) expects: u64,
    /// `TCP_NODELAY` is set before the first act.
    pub(crate) nodelay: bool,
    pub(crate) lateness: Lateness,
    pub(crate) host: HostLoad,
    /// The time that a segment takes from one end to the other.
    pub(crate) one_way: Duration,
    /// What decides whose lateness is drawn.
    pub(crate) draw: u64,
}

/// By end, where each of its writes ended, and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Arc<Mutex<Written>>);

type Written = [Vec<(u64, Instant)>; 2];

impl Line {
    fn wrote(&self, end: usize, until: u64, at: Instant) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written[end].push((until, at));
    }

    /// Returns when the octet before this offset of an end's had been written.
    fn written(&self, end: usize, offset: u64) -> Option<Instant> {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = written[end].partition_point(|(until, _)| *until < offset);
        Some(written[end].get(index)?.1)
    }
}

impl Player {
    pub(crate) fn new(part: Part, line: Line) -> Self {
        Self {
            wrote: Vec::with_capacity(part.acts.len()),
            part,
            line,
            next: 0,
            read: 0,
            written: 0,
            since: Instant::ZERO,
            woken: None,
            is_reading: false,
            reads: Vec::new(),
        }
    }

    /// Returns which end it plays.
    pub(crate) fn end(&self) -> usize {
        self.part.end
    }

    /// Returns how busy its host is.
    pub(crate) fn host(&self) -> HostLoad {
        self.part.host
    }

    /// Returns when the network had brought this many octets and the program was ready to read them.
    pub(crate) fn had_read(&self, octets: u64) -> Option<Instant> {
        let index = self.reads.partition_point(|(_, read)| *read < octets);
        Some(self.reads.get(index)?.0)
    }

    /// Returns how late the program reads the octet before this offset, which the network brought at `at`.
    pub(crate) fn lateness(&self, at: Instant, offset: u64, seen: Late) -> Duration {
        let wrote = self.line.written(1 - self.part.end, offset);
        let deferred = wrote.is_some_and(|wrote| at.since(wrote) >= self.part.one_way + DEFERRED);
        let draw = self.part.draw ^ offset.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let late_ns = self.part.lateness.now(seen, deferred, draw >> 7);
        Duration::from_nanos(self.part.host.times(late_ns))
    }

    fn took(&mut self, now: Instant, octets: u64) {
        let before = self.read;
        self.read += octets;
        // A reader that slept has been late already, and finds what came meanwhile, too.
        let wrote = self.line.written(1 - self.part.end, self.read);
        let sent = wrote.map_or(Instant::ZERO, |wrote| wrote + self.part.one_way);
        let woken = self.woken.take();
        let there = woken.map_or(now, |woken| woken.max(sent).min(now));
        self.reads.push((there, self.read));
        // What is read beyond what was waited for starts no gap.
        let awaited = self.part.acts.get(self.next).copied();
        if let Some(act) = awaited.filter(|act| before < act.after && act.after <= self.read) {
            let late = self.late_for(act, there);
            self.since = self.since.max(now).max(there + late);
        }
    }

    /// Returns how late the program reads what this act waits for, if the network brings it now.
    fn late_for(&self, act: Act, now: Instant) -> Duration {
        let seen = act.late;
        seen.map_or(Duration::ZERO, |seen| self.lateness(now, act.after, seen))
    }

    fn write_when_due(&self, act: Act, now: Instant) -> Call {
        let due = self.since + Duration::from_nanos(self.part.host.takes(act.gap_ns));
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

impl Program for Player {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        self.is_reading = false;
        match last {
            CallOutcome::Gone | CallOutcome::Read(0) => return Call::Stop,
            CallOutcome::Read(octets) => self.took(now, octets),
            CallOutcome::Wrote(octets) => {
                let call_ns = self.part.host.takes(self.part.acts[self.next].call_ns);
                self.since = now + Duration::from_nanos(call_ns);
                self.written += octets;
                self.line.wrote(self.part.end, self.written, now);
                self.wrote.push(now);
                self.next += 1;
            }
            _ => {}
        }
        if std::mem::take(&mut self.part.nodelay) {
            return Call::NoDelay(SOCKET, true);
        }
        match self.part.acts.get(self.next) {
            Some(act) if self.read >= act.after => self.write_when_due(*act, now),
            None if self.read >= self.part.expects && self.part.end == 0 => Call::Stop,
            _ => {
                self.is_reading = true;
                Call::Read {
                    socket: SOCKET,
                    max: u64::MAX,
                }
            }
        }
    }

    /// Returns how late the reader wakes up: the acknowledgment that its read sends leaves no earlier.
    fn wakes_late(&mut self, now: Instant) -> Duration {
        if !self.is_reading {
            return Duration::ZERO;
        }
        self.woken = Some(now);
        let awaited = self.part.acts.get(self.next);
        awaited.map_or(Duration::ZERO, |act| self.late_for(*act, now))
    }
}

const SOCKET: u32 = 0;
const SLEEP_NS: u64 = 1_000_000;
const DEFERRED: Duration = Duration::from_nanos(DEFERRED_NS);
