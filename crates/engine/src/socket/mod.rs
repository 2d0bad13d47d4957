//! The socket layer: a `write` under way, and the copy rule that cuts it into pieces.

pub mod copy_rule;

use copy_rule::{CopyRule, CopyView, Rule, Step};

/// A `write` that is being copied into the send buffer.
#[derive(Clone, Copy, Debug)]
pub struct WriteCall {
    /// Octets still to be copied.
    remaining: u64,
    /// Pieces copied so far, over all rounds (`outcount` in Mogul & Minshall's figure 4).
    pieces: u32,
    space_at_round: u64,
    copied_this_round: u64,
    /// The decided size of the next piece, in octets.
    decided: Option<u64>,
}

/// The next step of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Copy this many octets.
    Copy(u64),
    /// Sleep until space is free.
    Sleep,
}

impl WriteCall {
    /// Returns a write of `len` octets (at least one) into a buffer with `space` octets free.
    #[must_use]
    pub fn new(len: u64, space: u64) -> Self {
        Self {
            remaining: len,
            pieces: 0,
            space_at_round: space,
            copied_this_round: 0,
            decided: None,
        }
    }

    /// Returns the octets that are not copied yet.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Returns the number of pieces copied so far.
    #[must_use]
    pub fn pieces(&self) -> u32 {
        self.pieces
    }

    /// Begins a new round with `space` octets free, after the writer slept or used up the last
    /// round's space.
    pub fn begin_round(&mut self, space: u64) {
        self.space_at_round = space;
        self.copied_this_round = 0;
        self.decided = None;
    }

    /// Returns the next step of `rule`, given the send buffer's fill and size in octets. A piece
    /// stays decided until it is copied: kernels look at the space before they copy, and not again
    /// afterwards.
    #[must_use]
    pub fn next(&mut self, rule: &CopyRule, buffered: u64, capacity: u64) -> Piece {
        if let Some(octets) = self.decided {
            return Piece::Copy(octets);
        }
        loop {
            let view = CopyView {
                remaining: self.remaining,
                buffered,
                capacity,
                copied_this_round: self.copied_this_round,
                space_at_round: self.space_at_round,
            };
            match rule.step(&view) {
                Step::Copy(octets) => {
                    self.decided = Some(octets);
                    return Piece::Copy(octets);
                }
                Step::Sleep => return Piece::Sleep,
                Step::NewRound => self.begin_round(view.space()),
            }
        }
    }

    /// Returns whether a writer that sleeps in this write would sleep again if it looked at the buffer now.
    #[must_use]
    pub fn would_sleep(mut self, rule: &CopyRule, buffered: u64, capacity: u64) -> bool {
        self.begin_round(capacity.saturating_sub(buffered));
        self.next(rule, buffered, capacity) == Piece::Sleep
    }

    /// Records that `octets` were copied.
    pub fn copied(&mut self, octets: u64) {
        self.remaining -= octets;
        self.copied_this_round += octets;
        self.decided = None;
        self.pieces += 1;
    }

    /// Returns whether this round has used up the space it began with.
    #[must_use]
    pub fn space_used_up(&self) -> bool {
        self.copied_this_round >= self.space_at_round
    }
}
