//! What a program does with its connection: a script of calls, one after the other.

/// A call, or a time in which none is made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Octets, with MSG_MORE or without.
    Write {
        len: u64,
        more: bool,
    },
    /// Nanoseconds.
    Think(u64),
    /// Until as many more octets have been read.
    Read(u64),
    Cork(bool),
    Close,
}

pub(crate) fn write(len: u64) -> Act {
    Act::Write { len, more: false }
}

/// A program at its script.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) acts: Vec<Act>,
    pub(crate) at: usize,
    /// Octets read so far, and how many it waits for in all.
    pub(crate) read: u64,
    pub(crate) wanted: u64,
    /// Not before this, in nanoseconds.
    pub(crate) busy_until: u64,
    /// The write under way is not begun anew.
    pub(crate) writing: bool,
    pub(crate) reads: Vec<Waited>,
}

/// A read that slept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// Octets of the peer's stream that it had before, and with which it was content.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Since when it was asked for.
    pub(crate) since_ns: u64,
    /// What followed was a write or the end.
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

    /// Takes note of a read that is about to wait.
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
