//! What a program does with its connection: a script of calls, one after another.

/// A call, or a time without one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Writes this many octets, with MSG_MORE or without.
    Write {
        len: u64,
        more: bool,
    },
    /// Computes for this many nanoseconds.
    Think(u64),
    /// Reads until this many more octets have arrived.
    Read(u64),
    Cork(bool),
    Close,
}

pub(crate) fn write(len: u64) -> Act {
    Act::Write { len, more: false }
}

/// A program that follows its script.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) acts: Vec<Act>,
    pub(crate) at: usize,
    /// Octets read so far, and the total it waits for.
    pub(crate) read: u64,
    pub(crate) wanted: u64,
    /// The time until which it computes, in nanoseconds.
    pub(crate) busy_until: u64,
    /// Whether a write is under way, so that it is not started again.
    pub(crate) writing: bool,
    pub(crate) reads: Vec<Waited>,
}

/// A read that slept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// The positions in the peer's stream at which it began and at which it was satisfied.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// When the read began.
    pub(crate) since_ns: u64,
    /// Whether a write or the end of the script followed.
    pub(crate) answers: bool,
}

impl App {
    pub(crate) fn new(acts: Vec<Act>) -> Self {
        Self {
            acts,
            at: 0,
            read: 0,
            wanted: 0,
            busy_until: 0,
            writing: false,
            reads: Vec::new(),
        }
    }

    /// Notes a read that is about to wait.
    pub(crate) fn begins_read(&mut self, octets: u64, now_ns: u64) {
        let from = self.wanted;
        self.wanted += octets;
        let then = self.acts[self.at + 1..]
            .iter()
            .find(|act| !matches!(act, Act::Think(_) | Act::Cork(_)));
        self.reads.push(Waited {
            from,
            to: self.wanted,
            since_ns: now_ns,
            answers: matches!(then, Some(Act::Write { .. } | Act::Close)),
        });
    }
}
