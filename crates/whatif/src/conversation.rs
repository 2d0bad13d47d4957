//! A conversation: what the programs at the two ends do by themselves. Each write waits until its program has read what
//! it waited for, and then for a gap (closed loop): when the rules of TCP bring data later or sooner, what follows
//! comes later or sooner, too.

use crate::lateness::{DEFERRED_NS, Late, Lateness, SHORT_NS};
use crate::seen::{End, Read, Sent, Write};

/// A conversation that begins with a turn and ends before one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The writes of both ends; the first end is the one that asks.
    pub acts: [Vec<Act>; 2],
    /// The octets that each end writes.
    pub totals: [u64; 2],
    /// What its turns are.
    pub yardstick: Yardstick,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// By end, the turns that are measured there.
    at_ends: [Vec<Turn>; 2],
    /// The asker's write that begins the turn after the last one.
    pub beyond: Act,
    /// By end, how late its program reads.
    pub lateness: [Lateness; 2],
    /// The time that a segment takes from one program to the other, in nanoseconds.
    pub one_way_ns: u64,
    /// Octets of data in a full segment.
    pub mss: u16,
    /// Whether it was seen from the connection's beginning.
    pub is_whole: bool,
}

/// What a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yardstick {
    /// From the asker's first write to the read that brings the last octet of the answer; with the data segments of both ends.
    Answer,
    /// At one end, from the first write after a read until the next read that brings data, as the kernel reports the ends of
    /// both calls; with the data segments of this end. The trials of `cure` measure so.
    End(usize),
}

/// A write of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// How much the program has read by then.
    pub after: u64,
    /// How long it takes from then, or from the end of its last write if that is later, until it begins.
    pub gap_ns: u64,
    /// How long the call takes once its data has left.
    pub call_ns: u64,
    /// How late the read was that it waited for; `None` if it waited for none.
    pub late: Option<Late>,
    /// Octets.
    pub length: u64,
    /// Whether it says that more follows.
    pub more: bool,
}

/// A turn as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The write that it begins with, by its place in the list of the end at which it is measured.
    pub first: usize,
    /// The write that the next one begins with; `None` if that is the one beyond the last.
    pub next: Option<usize>,
    /// How much that end has read when it is over.
    pub end: u64,
    /// How late it read the last of that.
    pub late: Late,
    /// When it began.
    pub begun_ns: u64,
    /// How long it took.
    pub seen_ns: u64,
    /// How many segments with data were sent from its beginning to that of the next.
    pub segments: u64,
}

/// Returns the conversation of a connection both ends of which were seen; the asker's is the first. `None` if there is no
/// complete turn.
#[must_use]
pub fn of_both_ends(ends: [&End; 2], mss: u16, is_whole: bool) -> Option<Conversation> {
    let [asker, answerer] = ends;
    let since_ns = match is_whole {
        true => 0,
        false => asker.first_ns()?.max(answerer.first_ns()?),
    };
    let frame = Frame::of(asker, since_ns)?;
    let left = [Left::of(&asker.sent), Left::of(&answerer.sent)];
    let transits = [
        left[0].transit(&answerer.reads)?,
        left[1].transit(&asker.reads)?,
    ];
    let [to_answerer, to_asker] = between_kernels(ends, &left, transits);
    let heard = [
        Heard {
            reads: &asker.reads,
            written: &answerer.writes,
            left: &left[1],
            transit_ns: to_asker,
            from: frame.answered,
            begun_ns: frame.begun_ns,
        },
        Heard {
            reads: &answerer.reads,
            written: &asker.writes,
            left: &left[0],
            transit_ns: to_answerer,
            from: frame.asked,
            begun_ns: frame.begun_ns,
        },
    ];
    let turns = frame.turns(ends, &heard[0], &left[0], mss);
    // The write that begins the turn after the last is played between two laps.
    let with_next = Range {
        end: frame.asked.end + 1,
        ..frame.asked
    };
    let asked = Written::of(with_next, &asker.writes, &left[0]);
    let answered = Written::of(frame.answered, &answerer.writes, &left[1]);
    let mut of_asker = heard[0].acts(&asked);
    let beyond = of_asker.pop()?;
    let acts = [of_asker, heard[1].acts(&answered)];
    Some(Conversation {
        beyond,
        yardstick: Yardstick::Answer,
        at_ends: [
            asked.turns(acts[0].len(), &heard[0], &asker.sent, mss),
            answered.turns(acts[1].len(), &heard[1], &answerer.sent, mss),
        ],
        lateness: [heard[0].lateness(), heard[1].lateness()],
        acts,
        totals: [frame.asked.length(), frame.answered.length()],
        turns,
        one_way_ns: u64::midpoint(to_answerer, to_asker),
        mss,
        is_whole,
    })
}

/// Returns the times that segments take from one kernel to the other, of the shortest to a program's read. Within a host the latter
/// are mostly the reader's waking up, for which an acknowledgment does not wait that lets data go. Where that is there within
/// [`WITHIN_A_CALL_NS`], the kernel takes a segment in at the other end before the call that sends it returns: no time passes.
fn between_kernels(ends: [&End; 2], left: &[Left; 2], transits: [u64; 2]) -> [u64; 2] {
    if transits.iter().any(|transit_ns| *transit_ns >= SHORT_NS) {
        return transits;
    }
    let let_go = (0..2).flat_map(|end| {
        let (own, peer) = (ends[end], ends[1 - end]);
        let heard = move |read| left[1 - end].let_go_after(read, &peer.writes);
        own.reads.iter().filter_map(heard)
    });
    let shortest_ns = let_go.min().unwrap_or(u64::MAX);
    match shortest_ns {
        ..WITHIN_A_CALL_NS => [0; 2],
        _ => transits.map(|transit_ns| transit_ns.min(shortest_ns)),
    }
}

/// What a kernel takes at most from the sending of an acknowledgment to the sending of what it lets go, without any way between, in
/// nanoseconds. The shortest way between two hosts takes as long.
const WITHIN_A_CALL_NS: u64 = 50_000;

impl Conversation {
    /// Returns the same conversation with the turns that are measured at an end.
    #[must_use]
    pub fn measured_at(mut self, end: usize) -> Self {
        self.yardstick = Yardstick::End(end);
        self.turns = std::mem::take(&mut self.at_ends[end]);
        self
    }
}

/// What of a connection is a conversation: from the asker's first write to the last one that follows a read.
struct Frame {
    begun_ns: u64,
    /// The asker's octets in it, and the answerer's.
    asked: Range,
    answered: Range,
    /// The asker's writes that begin turns, by their place; the last is beyond the end.
    begins: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
}

impl Range {
    fn length(self) -> u64 {
        self.end - self.start
    }

    fn has(self, offset: u64) -> bool {
        (self.start..self.end).contains(&offset)
    }
}

impl Frame {
    /// Frames the turns that are whole. Of a connection that was seen from the middle, both ends are known only `since_ns`,
    /// and what was written first may be the end of a request.
    fn of(asker: &End, since_ns: u64) -> Option<Self> {
        let writes = &asker.writes;
        let is_first = |&index: &usize| match index {
            0 => since_ns == 0,
            _ => {
                writes[index].read_until > writes[index - 1].read_until
                    && writes[index].at_ns > since_ns
            }
        };
        let begins: Vec<usize> = (0..writes.len()).filter(is_first).collect();
        let (first, beyond) = (&writes[*begins.first()?], &writes[*begins.last()?]);
        if begins.len() < 2 {
            return None;
        }
        Some(Self {
            begun_ns: first.at_ns,
            asked: Range {
                start: first.end - first.length,
                end: beyond.end - beyond.length,
            },
            answered: Range {
                start: first.read_until,
                end: beyond.read_until,
            },
            begins,
        })
    }

    /// Returns the turns that are complete.
    fn turns(&self, ends: [&End; 2], heard: &Heard<'_>, left: &Left, mss: u16) -> Vec<Turn> {
        let writes = &ends[0].writes;
        let segments = self.segments(ends, left, mss);
        // The conversation's writes begin with this one.
        let place = |index: usize| index - self.begins[0];
        let of = |(pair, segments): (&[usize], u64)| {
            let (begun_ns, beyond) = (left.begun(&writes[pair[0]]), &writes[pair[1]]);
            let (read_ns, late) = heard.read(beyond.read_until)?;
            Some(Turn {
                first: place(pair[0]),
                next: Some(place(pair[1])).filter(|_| Some(&pair[1]) != self.begins.last()),
                end: beyond.read_until - self.answered.start,
                late,
                begun_ns,
                seen_ns: read_ns.saturating_sub(begun_ns),
                segments,
            })
        };
        self.begins
            .windows(2)
            .zip(segments)
            .filter_map(of)
            .collect()
    }

    /// Returns how many segments with data left either end from the beginning of each turn to that of the next.
    fn segments(&self, ends: [&End; 2], left: &Left, mss: u16) -> Vec<u64> {
        let begun = |index: &usize| left.begun(&ends[0].writes[*index]);
        let begun: Vec<u64> = self.begins.iter().map(begun).collect();
        segments_between(&begun, ends.iter().flat_map(|end| &end.sent), mss)
    }
}

/// Returns how many of the segments left between each of these times and the next.
fn segments_between<'a>(
    times_ns: &[u64],
    sent: impl Iterator<Item = &'a Sent>,
    mss: u16,
) -> Vec<u64> {
    let mut counts = vec![0; times_ns.len().saturating_sub(1)];
    for segment in sent {
        let turn = times_ns.partition_point(|at_ns| *at_ns <= segment.at_ns);
        if let Some(count) = turn.checked_sub(1).and_then(|turn| counts.get_mut(turn)) {
            *count += segment.length.div_ceil(u64::from(mss.max(1)));
        }
    }
    counts
}

/// What an end writes in its part of a conversation, each write with the time at which it began.
struct Written<'a> {
    writes: Vec<(&'a Write, u64)>,
}

impl<'a> Written<'a> {
    fn of(range: Range, writes: &'a [Write], left: &Left) -> Self {
        let mut last_ns = 0;
        let in_range = writes
            .iter()
            .filter(|write| range.has(write.end - write.length));
        let with_beginning = in_range.map(|write| {
            // A segment that took the end of one write and the beginning of the next left with the first.
            let begun_ns = left.begun(write).max(last_ns);
            last_ns = write.at_ns;
            (write, begun_ns)
        });
        Self {
            writes: with_beginning.collect(),
        }
    }

    /// Returns the turns that are measured at this end ([`Yardstick::End`]). Writes from `acts` on lie beyond the conversation.
    fn turns(&self, acts: usize, heard: &Heard<'_>, sent: &[Sent], mss: u16) -> Vec<Turn> {
        let writes = &self.writes;
        let is_first = |&index: &usize| {
            index == 0 || writes[index].0.read_until > writes[index - 1].0.read_until
        };
        let begins: Vec<usize> = (0..writes.len()).filter(is_first).collect();
        let begun: Vec<u64> = begins.iter().map(|index| writes[*index].1).collect();
        let segments = segments_between(&begun, sent.iter(), mss);
        let of = |(pair, segments): (&[usize], u64)| {
            let write = writes[pair[0]].0;
            let (read_ns, late) = heard.read(write.read_until + 1)?;
            Some(Turn {
                first: pair[0],
                next: Some(pair[1]).filter(|next| *next < acts),
                end: (write.read_until + 1).checked_sub(heard.from.start)?,
                late,
                begun_ns: write.at_ns,
                seen_ns: read_ns.saturating_sub(write.at_ns),
                segments,
            })
        };
        begins.windows(2).zip(segments).filter_map(of).collect()
    }
}

/// When each octet of a direction left for the first time.
struct Left(Vec<Sent>);

impl Left {
    fn of(sent: &[Sent]) -> Self {
        let mut end = 0;
        // Retransmissions end no further.
        let is_first = |segment: &&Sent| {
            let is_first = segment.end > end;
            end = end.max(segment.end);
            is_first
        };
        Self(sent.iter().filter(is_first).copied().collect())
    }

    /// Returns when the octet before this offset left, if that was seen.
    fn left(&self, offset: u64) -> Option<u64> {
        let index = self.0.partition_point(|segment| segment.end < offset);
        let segment = self.0.get(index)?;
        (offset > segment.end - segment.length).then_some(segment.at_ns)
    }

    /// Returns how long after the last bare acknowledgment before this read the data left that it brings, if that waited at its
    /// sender and nothing else left between.
    fn let_go_after(&self, read: &Read, written: &[Write]) -> Option<u64> {
        let (ack_ns, left_ns) = (read.late_ack_ns?, self.left(read.end)?);
        let first = self.0.partition_point(|segment| segment.at_ns < ack_ns);
        let is_first = self.0.get(first)?.at_ns == left_ns;
        (is_first && is_deferred(written, read.end, left_ns)).then(|| left_ns - ack_ns)
    }

    /// Returns when a write began: its first segment may leave long before the call ends, in which the kernel also takes it
    /// in at the other end of a local connection, and wakes its reader.
    fn begun(&self, write: &Write) -> u64 {
        let first = self.left(write.end - write.length + 1);
        first.map_or(write.at_ns, |left_ns| left_ns.min(write.at_ns))
    }

    /// Returns the shortest time from a segment's leaving to the read that brings its last octet.
    fn transit(&self, reads: &[Read]) -> Option<u64> {
        reads
            .iter()
            .filter_map(|read| read.at_ns.checked_sub(self.left(read.end)?))
            .min()
    }
}

/// Returns whether the octet before this offset, which left at `left_ns`, had waited at its sender.
fn is_deferred(written: &[Write], offset: u64, left_ns: u64) -> bool {
    let index = written.partition_point(|write| write.end < offset);
    let write = written.get(index);
    write.is_some_and(|write| left_ns >= write.at_ns + DEFERRED_NS)
}

/// What an end reads, and when it could have.
struct Heard<'a> {
    reads: &'a [Read],
    /// The peer's writes.
    written: &'a [Write],
    left: &'a Left,
    transit_ns: u64,
    from: Range,
    begun_ns: u64,
}

impl Heard<'_> {
    /// Returns when the octet before this offset was read, and how late that was.
    fn read(&self, offset: u64) -> Option<(u64, Late)> {
        let index = self.reads.partition_point(|read| read.end < offset);
        let read = self.reads.get(index)?;
        let left_ns = self.left.left(offset)?;
        let deferred = is_deferred(self.written, offset, left_ns);
        // A replay brings acknowledgments in time, too: what let this go comes to its lateness.
        let let_go_ns = (self.left.let_go_after(read, self.written)).filter(|_| deferred);
        let let_go_late_ns = let_go_ns.map_or(0, |took_ns| took_ns.saturating_sub(self.transit_ns));
        let late = Late {
            ns: read.at_ns.saturating_sub(left_ns + self.transit_ns) + let_go_late_ns,
            deferred,
        };
        Some((read.at_ns, late))
    }

    /// Returns how late the reads in the conversation were.
    fn lateness(&self) -> Lateness {
        let reads = self.reads.iter().map(|read| read.end);
        let ends = reads.filter(|end| self.from.start < *end && *end <= self.from.end);
        Lateness::of(ends.filter_map(|end| Some(self.read(end)?.1)))
    }

    /// Returns what the reader writes.
    fn acts(&self, own: &Written<'_>) -> Vec<Act> {
        let mut acts = Vec::new();
        let mut last_ns = self.begun_ns;
        for (write, begun_ns) in &own.writes {
            let after = write.read_until.saturating_sub(self.from.start);
            let read = match after {
                0 => None,
                _ => self.read(write.read_until),
            };
            let since_ns = read.map_or(self.begun_ns, |(read_ns, _)| read_ns);
            acts.push(Act {
                after: after.min(self.from.length()),
                gap_ns: begun_ns.saturating_sub(since_ns.max(last_ns)),
                call_ns: write.at_ns.saturating_sub(*begun_ns),
                late: read.map(|(_, late)| late),
                length: write.length,
                more: write.more,
            });
            last_ns = write.at_ns;
        }
        acts
    }
}
