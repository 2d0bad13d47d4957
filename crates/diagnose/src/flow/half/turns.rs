//! Whose turn it is: what the sender's run of data began with, and what the peer has said since.

use tinygram_stalls::thresholds::LEAST_TAIL_NS;

/// What a run of data began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing sent yet.
    #[default]
    None,
    /// First data, or data after the peer's.
    Answer,
    /// Data after a pause of the sender's own.
    SelfClocked,
}

/// The turns of one sender and its peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    /// The peer's last data, and the last before it: when it was seen, in nanoseconds since the epoch, and
    /// the sequence number after it.
    peer_data_ns: [i64; 2],
    peer_data_end: [u32; 2],
    /// What of the peer's data the last segment acknowledged.
    pub(crate) heard_to: u32,
    /// Length of a segment that the peer answered for itself.
    pub(crate) answered_len: u32,
    /// What the sender's run of data began with.
    pub(crate) turn: Turn,
    /// What it is sending answers something.
    pub(crate) asked: bool,
    /// The peer sent data after this sender's last data.
    pub(crate) peer_spoke: bool,
    /// The peer sent data after this sender's last data, whatever it acknowledged.
    pub(crate) peer_between: bool,
    /// Segments since the peer last spoke.
    turn_segments: u8,
    /// Short segments of the peer that no segment of this sender has answered yet.
    owed: u8,
    /// Messages that began as late as a sender's timer releases a corked one; 255 are many.
    pub(crate) timed: u8,
}

impl Turns {
    /// Begins a turn: what the sender sends from now on, it sends for another reason than before.
    pub(super) fn begin(&mut self, turn: Turn) {
        self.turn = turn;
    }

    /// Notes whether the sender answers something: whether the peer has said anything since.
    pub(crate) fn note_asked(&mut self) {
        self.asked = self.peer_spoke;
    }

    /// Notes that the sender sent data.
    #[inline]
    pub(super) fn sent(&mut self) {
        self.turn_segments = match self.peer_spoke {
            true => 1,
            false => self.turn_segments.saturating_add(1),
        };
        self.peer_spoke = false;
        self.peer_between = false;
        self.owed = self.owed.saturating_sub(1);
    }

    /// Notes a short segment of the peer, which may be a request of its own.
    #[inline]
    pub(crate) fn asked(&mut self) {
        self.owed = self.owed.saturating_add(1);
    }

    /// Returns whether the next segment may answer a request that came together with others.
    #[inline]
    pub(super) fn owes(&self) -> bool {
        self.owed > 0
    }

    /// Notes data of the peer that ends at `end`. If it is an `answer`, the peer has received all that this sender
    /// sent, the last of it `last_len` bytes long.
    #[inline]
    pub(super) fn heard(&mut self, time_ns: i64, end: u32, answer: bool, last_len: u32) {
        self.peer_between = true;
        self.peer_data_ns = [time_ns, self.peer_data_ns[0]];
        self.peer_data_end = [end, self.peer_data_end[0]];
        if answer {
            if self.turn_segments == 1 && !self.peer_spoke {
                self.answered_len = last_len;
            }
            self.peer_spoke = true;
        }
    }

    /// Returns whether the peer has said something at all.
    pub(crate) fn was_asked(&self) -> bool {
        self.peer_data_ns[0] != 0
    }

    /// Returns when the last data of the peer that this number acknowledges was seen, if it was one of the last two,
    /// in nanoseconds since the epoch; 0 before there was any.
    pub(crate) fn asked_ns(&self, ack: u32) -> Option<i64> {
        let covered = |&(_, end): &(i64, u32)| (ack.wrapping_sub(end) as i32) >= 0;
        let asked = self.peer_data().find(covered);
        asked.map(|(at_ns, _)| at_ns)
    }

    /// Returns whether a segment that acknowledges no more than this left before its sender had got data of the peer
    /// that was sent before an acknowledgment at this time, and so before it had got that. Data sent long before was
    /// lost.
    pub(super) fn lacks_data_before(&self, ack: u32, release_ns: i64) -> bool {
        let before = |(at_ns, end): (i64, u32)| {
            at_ns != 0
                && (1..LEAST_TAIL_NS).contains(&(release_ns - at_ns))
                && (ack.wrapping_sub(end) as i32) < 0
        };
        self.peer_data().any(before)
    }

    /// Returns time and end of the peer's last data, and of the last before it.
    fn peer_data(&self) -> impl Iterator<Item = (i64, u32)> {
        self.peer_data_ns.into_iter().zip(self.peer_data_end)
    }
}
