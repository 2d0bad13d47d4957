//! An observer that records what a reader sees: segments on their way, what waits and why, and what
//! programs do.

use serde::Serialize;
use serde_json::{Value, json};
use tinygram_engine::connection::Reason;
use tinygram_engine::sender::send_policy::Why;
use tinygram_engine::{Flags, Instant, Offset};
use tinygram_sim::host::Socket;
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::observer::Observer;

use super::words;

/// Records a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    sent: Vec<Sent>,
    /// The first of `sent` that has not arrived.
    under_way: usize,
    /// What is known of each end of each connection.
    ends: Vec<[End; 2]>,
    held: Vec<Held>,
    owed: Vec<Owed>,
    calls: Vec<Called>,
    /// The last time at which anything happened.
    last: Instant,
    /// How many of the client's writes pass before anything is recorded.
    passed_over: usize,
    /// What the client had written and read when it was last looked at.
    passed: [Offset; 2],
    /// Whether a side's connections are as they were when recording began, by side.
    joins: [bool; 2],
}

/// A segment that left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) from: Side,
    pub(super) frame: MediumFrame,
    pub(super) arrived: Option<Instant>,
}

/// Octets that a rule kept back.
#[derive(Clone, Copy, Debug)]
struct Held {
    by: Side,
    socket: usize,
    start: Offset,
    octets: u64,
    why: Why,
    from: Instant,
    to: Instant,
}

/// An acknowledgment that a receiver put off.
#[derive(Clone, Copy, Debug)]
struct Owed {
    by: Side,
    socket: usize,
    from: Instant,
    to: Instant,
    /// Whether the delayed-ACK timer ended it.
    is_timed: bool,
}

/// What a program did with a socket.
#[derive(Clone, Copy, Debug)]
struct Called {
    by: Side,
    socket: usize,
    at: Instant,
    octets: u64,
    is_write: bool,
}

/// What was last seen of an end of a connection.
#[derive(Clone, Copy, Debug)]
struct End {
    written: Offset,
    read: Offset,
    arrived: Offset,
    /// What its acknowledgments have covered.
    acked: Offset,
    held: Option<Held>,
    owed_since: Option<Instant>,
    /// When its delayed-ACK timer fires.
    deadline: Option<Instant>,
}

impl Default for End {
    fn default() -> Self {
        Self {
            written: Offset::FIRST,
            read: Offset::FIRST,
            arrived: Offset::FIRST,
            acked: Offset::FIRST,
            held: None,
            owed_since: None,
            deadline: None,
        }
    }
}

impl Observer for Watch {
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        if self.passed_over > 0 {
            return;
        }
        self.sent.push(Sent {
            from,
            frame: *frame,
            arrived: None,
        });
        let end = self.end(from, frame.socket as usize);
        end.acked = end.acked.max(frame.segment.ack);
    }

    fn received(&mut self, _: Instant, to: Side, frame: &MediumFrame) {
        if self.passed_over > 0 {
            return;
        }
        let is_it = |sent: &Sent| {
            sent.arrived.is_none()
                && sent.from != to
                && (sent.frame.socket, sent.frame.generation) == (frame.socket, frame.generation)
                && sent.frame.segment == frame.segment
        };
        let found = self.sent[self.under_way..].iter_mut().find(|it| is_it(it));
        if let Some(sent) = found {
            sent.arrived = Some(frame.at);
        }
        let arrived = self.sent[self.under_way..].iter();
        self.under_way += arrived.take_while(|it| it.arrived.is_some()).count();
    }

    fn ran(&mut self, at: Instant, side: Side, sockets: &[Socket]) {
        if self.passed_over > 0 {
            if side == Side::Client {
                self.pass_over(sockets);
            }
            return;
        }
        if std::mem::take(&mut self.joins[side.index()]) {
            self.join(side, sockets);
        }
        self.last = self.last.max(at);
        for (number, socket) in sockets.iter().enumerate() {
            self.calls(at, side, number, socket);
            self.holds(at, side, number, socket);
            self.owes(at, side, number, socket);
        }
    }
}

impl Watch {
    /// Returns a watch that records nothing before the client has written so often.
    pub(super) fn after(writes: usize) -> Self {
        Self {
            passed_over: writes,
            passed: [Offset::FIRST; 2],
            joins: [writes > 0; 2],
            ..Self::default()
        }
    }

    /// Counts the client's writes, of which a connection that is replaced begins anew.
    fn pass_over(&mut self, sockets: &[Socket]) {
        let Some(socket) = sockets.first() else {
            return;
        };
        let now = [
            socket.connection().sender().vars().written,
            socket.connection().receiver().read_up_to(),
        ];
        let before = std::mem::replace(&mut self.passed, now);
        let is_fresh = now[0] < before[0] || now[1] < before[1];
        let written = if is_fresh { Offset::FIRST } else { before[0] };
        if now[0] > written {
            self.passed_over -= 1;
        }
    }

    /// Takes the connections of a side as they are; nothing of it is recorded.
    fn join(&mut self, side: Side, sockets: &[Socket]) {
        for (number, socket) in sockets.iter().enumerate() {
            let connection = socket.connection();
            *self.end(side, number) = End {
                written: connection.sender().vars().written,
                read: connection.receiver().read_up_to(),
                arrived: connection.receiver().nxt(),
                acked: connection.receiver().nxt(),
                ..End::default()
            };
        }
    }

    fn end(&mut self, side: Side, socket: usize) -> &mut End {
        if self.ends.len() <= socket {
            self.ends.resize(socket + 1, [End::default(); 2]);
        }
        &mut self.ends[socket][side.index()]
    }

    fn calls(&mut self, at: Instant, by: Side, number: usize, socket: &Socket) {
        let written = socket.connection().sender().vars().written;
        let read = socket.connection().receiver().read_up_to();
        let end = self.end(by, number);
        if written < end.written || read < end.read {
            // The connection was replaced by a fresh one.
            *end = End::default();
        }
        let before = [end.written, end.read];
        [end.written, end.read] = [written, read];
        for (now, before, is_write) in [(written, before[0], true), (read, before[1], false)] {
            if now > before {
                self.calls.push(Called {
                    by,
                    socket: number,
                    at,
                    octets: now.since(before),
                    is_write,
                });
            }
        }
    }

    fn holds(&mut self, at: Instant, by: Side, number: usize, socket: &Socket) {
        let sender = socket.connection().sender();
        let now = sender.hold().map(|hold| Held {
            by,
            socket: number,
            start: hold.start,
            octets: sender.vars().written.since(hold.start),
            why: hold.why,
            from: at,
            to: at,
        });
        let before = self.end(by, number).held;
        let is_same = |one: &Held, other: &Held| (one.start, one.why) == (other.start, other.why);
        let held = match (before, now) {
            (Some(before), Some(now)) if is_same(&before, &now) => Some(Held {
                octets: now.octets.max(before.octets),
                ..before
            }),
            (before, now) => {
                self.held.extend(before.map(|it| Held { to: at, ..it }));
                now
            }
        };
        self.end(by, number).held = held;
    }

    fn owes(&mut self, at: Instant, by: Side, number: usize, socket: &Socket) {
        let connection = socket.connection();
        let arrived = connection.receiver().nxt();
        let wakes = match connection.next_wakeup_reason() {
            Some((at, Reason::DelayedAck)) => Some(at),
            _ => None,
        };
        let end = self.end(by, number);
        let deadline = std::mem::replace(&mut end.deadline, wakes);
        let is_new = std::mem::replace(&mut end.arrived, arrived) != arrived;
        if arrived > end.acked {
            end.owed_since.get_or_insert(at);
        } else if let Some(from) = end.owed_since.take() {
            let is_timed = !is_new && deadline.is_some_and(|it| it <= at);
            self.owed.push(Owed {
                by,
                socket: number,
                from,
                to: at,
                is_timed,
            });
        }
    }

    /// Returns the last time at which anything happened.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Returns the segments in the order in which they left.
    pub(super) fn sent_segments(&self) -> &[Sent] {
        &self.sent
    }

    /// Returns when this side last wrote.
    pub(super) fn last_write(&self, by: Side) -> Option<Instant> {
        let writes = self.calls.iter().rev();
        let mut writes = writes.filter(|call| call.is_write && call.by == by);
        writes.next().map(|call| call.at)
    }

    /// Returns when this side's program had read each of these amounts, which follow each other, in octets; the
    /// times of those that it read.
    pub(super) fn read_up_to(&self, by: Side, amounts: &[u64]) -> Vec<Instant> {
        let reads = self.calls.iter();
        let mut reads = reads.filter(|call| !call.is_write && call.by == by);
        let mut read = 0;
        let mut wanted = 0;
        let mut at = Instant::ZERO;
        let mut times = Vec::new();
        for amount in amounts {
            wanted += amount;
            while read < wanted {
                let Some(call) = reads.next() else {
                    return times;
                };
                read += call.octets;
                at = call.at;
            }
            times.push(at);
        }
        times
    }

    /// Returns what happened within a span of time, as JSON. Times are in nanoseconds since its beginning;
    /// sequence numbers are counted from the first that a side used in it.
    pub(super) fn shown(&self, from: Instant, to: Instant) -> Value {
        let mut bases: Vec<[Option<Offset>; 2]> = vec![[None; 2]; self.ends.len()];
        let since = |at: Instant| at.as_nanos() as i64 - from.as_nanos() as i64;
        let is_inside = |at: Instant| at >= from && at <= to;
        let mut frames = Vec::new();
        for sent in self.sent.iter().filter(|it| is_inside(it.frame.at)) {
            let segment = sent.frame.segment;
            let base = &mut bases[sent.frame.socket as usize];
            let seq = base[sent.from.index()]
                .get_or_insert(segment.seq)
                .to_owned();
            let acks = base[sent.from.other().index()]
                .get_or_insert(segment.ack)
                .to_owned();
            frames.push(json!({
                "from": sent.from.index(),
                "socket": sent.frame.socket,
                "left": since(sent.frame.at),
                "arrived": sent.arrived.map(since),
                "seq": relative(segment.seq, seq),
                "len": segment.len,
                "ack": relative(segment.ack, acks),
                "syn": segment.flags.has(Flags::SYN),
                "fin": segment.flags.has(Flags::FIN),
                "is_again": self.is_again(sent),
            }));
        }
        let unfinished = self.ends.iter().flatten().filter_map(|end| end.held);
        let held = self.held.iter().copied();
        let held = held.chain(unfinished.map(|it| Held {
            to: self.last.max(it.from),
            ..it
        }));
        let held = held.filter(|it| it.to > from && it.from <= to);
        let held = held.map(|it| {
            json!({
                "by": it.by.index(), "socket": it.socket, "octets": it.octets,
                "from": since(it.from), "to": since(it.to.min(to)),
                "said": words::why(it.why),
            })
        });
        let owed = self.owed.iter().filter(|it| it.to > from && it.from <= to);
        let owed = owed.map(|it| {
            json!({
                "by": it.by.index(), "socket": it.socket, "is_timed": it.is_timed,
                "from": since(it.from), "to": since(it.to),
            })
        });
        let calls = self.calls.iter().filter(|it| is_inside(it.at));
        let calls = calls.map(|it| {
            json!({
                "by": it.by.index(), "socket": it.socket, "at": since(it.at),
                "octets": it.octets, "is_write": it.is_write,
            })
        });
        json!({
            "frames": frames,
            "held": held.collect::<Vec<_>>(),
            "owed": owed.collect::<Vec<_>>(),
            "calls": calls.collect::<Vec<_>>(),
            "began_ns": from.as_nanos(),
            "ended": since(to),
        })
    }

    /// Returns whether the segment carries octets that an earlier one carried.
    fn is_again(&self, sent: &Sent) -> bool {
        let segment = sent.frame.segment;
        let key = |it: &Sent| (it.from, it.frame.socket, it.frame.generation);
        let earlier = self.sent.iter().take_while(|it| !std::ptr::eq(*it, sent));
        segment.len > 0
            && earlier
                .filter(|it| key(it) == key(sent))
                .any(|it| it.frame.segment.len > 0 && it.frame.segment.end() > segment.seq)
    }

    /// Returns the counts of the data that a side sent within a span of time.
    pub(super) fn counts(&self, by: Side, mss: u16, from: Instant, to: Instant) -> Counts {
        let inside = |it: &&Sent| it.frame.at >= from && it.frame.at <= to;
        let data = self.sent.iter().filter(inside);
        let data = data.filter(|it| it.from == by && it.frame.segment.len > 0);
        let mut counts = Counts::default();
        for sent in data {
            counts.data_segments += 1;
            counts.short_segments += u64::from(sent.frame.segment.len < u32::from(mss));
            counts.octets += u64::from(sent.frame.segment.len);
        }
        counts
    }
}

/// What a side sent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Counts {
    data_segments: u64,
    short_segments: u64,
    octets: u64,
}

fn relative(at: Offset, base: Offset) -> i64 {
    at.get() as i64 - base.get() as i64
}
