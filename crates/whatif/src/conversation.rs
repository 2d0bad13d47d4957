//! A conversation: what the programs at the two ends do by themselves. Each write waits until its program has read what
//! it waited for, and then for a gap (closed loop): when the rules of TCP bring data later or sooner, what follows
//! comes later or sooner, too.

use crate::seen::{End, Read, Sent, Write};

/// A conversation that begins with a turn and ends before one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// The writes of both ends; the first end is the one that asks.
    pub acts: [Vec<Act>; 2],
    /// The octets that each end writes.
    pub totals: [u64; 2],
    /// Its turns.
    pub turns: Vec<Turn>,
    /// The gap after the last turn, in nanoseconds.
    pub last_gap_ns: u64,
    /// The time that a segment takes from one program to the other, in nanoseconds.
    pub one_way_ns: u64,
    /// Octets of data in a full segment.
    pub mss: u16,
    /// Whether it was seen from the connection's beginning.
    pub is_whole: bool,
}

/// A write of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// How much the program has read by then.
    pub after: u64,
    /// How long it takes from then, or from its last write if that is later.
    pub gap_ns: u64,
    /// Octets.
    pub length: u64,
    /// Whether it says that more follows.
    pub more: bool,
}

/// A turn as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The asker's write that it begins with, by its place in the list.
    pub first: usize,
    /// How much the asker has read when it ends.
    pub end: u64,
    /// How much later than the network brought it the asker read the last of it.
    pub late_ns: u64,
    /// How long it took.
    pub seen_ns: u64,
    /// How many segments with data both ends sent from its beginning to that of the next.
    pub segments: u64,
}

/// Returns the conversation of a connection both ends of which were seen; the asker's is the first. `None` if there is no
/// complete turn.
#[must_use]
pub fn of_both_ends(ends: [&End; 2], mss: u16, is_whole: bool) -> Option<Conversation> {
    let [asker, answerer] = ends;
    let frame = Frame::of(asker)?;
    let left = [Left::of(&asker.sent), Left::of(&answerer.sent)];
    let to_answerer = left[0].transit(&answerer.reads)?;
    let to_asker = left[1].transit(&asker.reads)?;
    let arrivals = [
        Arrivals {
            left: &left[1],
            transit_ns: to_asker,
            from: frame.answered,
            begun_ns: frame.begun_ns,
        },
        Arrivals {
            left: &left[0],
            transit_ns: to_answerer,
            from: frame.asked,
            begun_ns: frame.begun_ns,
        },
    ];
    let mut of_asker = arrivals[0].acts(frame.asked, &asker.writes);
    let turns = frame.turns(ends, &arrivals[0], &left, mss);
    // The write that begins the turn after the last has a gap, too.
    let beyond = Range {
        end: frame.asked.end + 1,
        ..frame.asked
    };
    let last_gap_ns = arrivals[0].acts(beyond, &asker.writes).last()?.gap_ns;
    of_asker.truncate(frame.writes);
    Some(Conversation {
        last_gap_ns,
        acts: [of_asker, arrivals[1].acts(frame.answered, &answerer.writes)],
        totals: [frame.asked.length(), frame.answered.length()],
        turns,
        one_way_ns: u64::midpoint(to_answerer, to_asker),
        mss,
        is_whole,
    })
}

/// What of a connection is a conversation: from the asker's first write to the last one that follows a read.
struct Frame {
    begun_ns: u64,
    /// The asker's octets in it, and the answerer's.
    asked: Range,
    answered: Range,
    /// How many writes of the asker are in it.
    writes: usize,
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
    fn of(asker: &End) -> Option<Self> {
        let writes = &asker.writes;
        let is_first =
            |&index: &usize| index == 0 || writes[index].read_until > writes[index - 1].read_until;
        let begins: Vec<usize> = (0..writes.len()).filter(is_first).collect();
        let (first, beyond) = (writes.first()?, &writes[*begins.last()?]);
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
            writes: *begins.last()?,
            begins,
        })
    }

    /// Returns the turns that are complete.
    fn turns(
        &self,
        ends: [&End; 2],
        arrivals: &Arrivals<'_>,
        left: &[Left; 2],
        mss: u16,
    ) -> Vec<Turn> {
        let [asker, _] = ends;
        let segments = self.segments(ends, &left[0], mss);
        let of = |(pair, segments): (&[usize], u64)| {
            let (begun, beyond) = (&asker.writes[pair[0]], &asker.writes[pair[1]]);
            let read = asker
                .reads
                .iter()
                .find(|read| read.end >= beyond.read_until)?;
            let came_ns = arrivals.came(beyond.read_until)?;
            Some(Turn {
                first: pair[0],
                end: beyond.read_until - self.answered.start,
                late_ns: read.at_ns.saturating_sub(came_ns),
                seen_ns: read.at_ns.saturating_sub(begun.at_ns),
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
        let begun = |index: &usize| {
            let write = &ends[0].writes[*index];
            // The first segment of a write may leave before the call ends.
            let first = left.left(write.end - write.length + 1);
            first.map_or(write.at_ns, |at_ns| at_ns.min(write.at_ns))
        };
        let begun: Vec<u64> = self.begins.iter().map(begun).collect();
        let mut counts = vec![0; begun.len() - 1];
        for segment in ends.iter().flat_map(|end| &end.sent) {
            let turn = begun.partition_point(|at_ns| *at_ns <= segment.at_ns);
            if let Some(count) = turn.checked_sub(1).and_then(|turn| counts.get_mut(turn)) {
                *count += segment.length.div_ceil(u64::from(mss.max(1)));
            }
        }
        counts
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

    /// Returns when the octet before this offset left.
    fn left(&self, offset: u64) -> Option<u64> {
        let index = self.0.partition_point(|segment| segment.end < offset);
        Some(self.0.get(index)?.at_ns)
    }

    /// Returns the shortest time from a segment's leaving to the read that brings its last octet.
    fn transit(&self, reads: &[Read]) -> Option<u64> {
        reads
            .iter()
            .filter_map(|read| Some(read.at_ns.saturating_sub(self.left(read.end)?)))
            .min()
    }
}

/// When the octets of a direction could be read.
struct Arrivals<'a> {
    left: &'a Left,
    transit_ns: u64,
    from: Range,
    begun_ns: u64,
}

impl Arrivals<'_> {
    fn came(&self, offset: u64) -> Option<u64> {
        Some(self.left.left(offset)? + self.transit_ns)
    }

    /// Returns what the reader of these octets writes: the writes that begin in its own range.
    fn acts(&self, own: Range, writes: &[Write]) -> Vec<Act> {
        let mut acts = Vec::new();
        let mut last_ns = self.begun_ns;
        for write in writes
            .iter()
            .filter(|write| own.has(write.end - write.length))
        {
            let after = write.read_until.saturating_sub(self.from.start);
            let came_ns = match after {
                0 => self.begun_ns,
                _ => self.came(write.read_until).unwrap_or(write.at_ns),
            };
            acts.push(Act {
                after: after.min(self.from.length()),
                gap_ns: write.at_ns.saturating_sub(came_ns.max(last_ns)),
                length: write.length,
                more: write.more,
            });
            last_ns = write.at_ns;
        }
        acts
    }
}
