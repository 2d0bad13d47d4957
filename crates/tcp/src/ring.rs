//! Buffers of a stream's octets, addressed by offset, and the memory that all of them share.

use std::collections::VecDeque;

use tinygram_engine::{Offset, Span};

/// The octets of a piece of memory: a segment of Ethernet's size touches two at most.
pub(crate) const PIECE: usize = 2048;

/// The octets that a piece counts for: with its place in the index of a ring, which holds at most
/// four times as many places as it uses.
pub(crate) const COST: usize = PIECE + 4 * size_of::<(u64, Piece)>();

type Piece = Box<[u8; PIECE]>;

/// The pieces of all rings of a stack: in use, and kept for the next use.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    /// Those that no ring uses; the last is the one used last, and still in the processor's caches.
    spare: Vec<Piece>,
    used: usize,
}

/// The most pieces that are kept for the next use: a megabyte.
const MOST_SPARE: usize = (1 << 20) / PIECE;

impl Pieces {
    /// Returns how many pieces all rings use.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Returns how many are kept for the next use.
    pub(crate) fn spare(&self) -> usize {
        self.spare.len()
    }

    /// Frees what is kept for the next use.
    pub(crate) fn free_spare(&mut self) {
        self.spare = Vec::new();
    }

    #[inline]
    fn take(&mut self) -> Piece {
        self.used += 1;
        self.spare.pop().unwrap_or_else(new_piece)
    }

    #[inline]
    fn give(&mut self, piece: Piece) {
        self.used -= 1;
        if self.spare.len() < MOST_SPARE {
            self.spare.push(piece);
        }
    }
}

/// Allocates a piece. Not inlined, because most pieces are used again.
#[cold]
fn new_piece() -> Piece {
    // Not on the stack first.
    let zeros = vec![0; PIECE].into_boxed_slice();
    zeros.try_into().expect("it has this length")
}

/// A buffer of octets of a stream. It consists of pieces, each of which begins at a multiple of its
/// length: only those exist in which octets were stored, however far apart they are. Its owner
/// bounds the octets.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    /// The pieces with their numbers, in order.
    pieces: VecDeque<(u64, Piece)>,
}

/// An index that is larger than this many places shrinks with what it holds.
const SMALL_INDEX: usize = 64;

impl Ring {
    /// Returns how many octets of memory it takes.
    pub(crate) fn allocated(&self) -> usize {
        self.pieces.len() * COST
    }

    /// Frees its memory. None of its contents is needed any more.
    pub(crate) fn release(&mut self, pool: &mut Pieces) {
        for (_, piece) in self.pieces.drain(..) {
            pool.give(piece);
        }
        self.pieces = VecDeque::new();
    }

    /// Forgets everything before `start`, of what was stored up to `end`.
    #[inline]
    pub(crate) fn discard(&mut self, start: Offset, end: Offset, pool: &mut Pieces) {
        // If nothing is left, no part of a piece is kept either.
        let needed = if start < end { number(start) } else { u64::MAX };
        if self
            .pieces
            .front()
            .is_some_and(|(first, _)| *first < needed)
        {
            self.discard_pieces(needed, pool);
        }
    }

    fn discard_pieces(&mut self, needed: u64, pool: &mut Pieces) {
        while let Some((first, _)) = self.pieces.front()
            && *first < needed
            && let Some((_, piece)) = self.pieces.pop_front()
        {
            pool.give(piece);
        }
        self.shrink_index();
    }

    /// Forgets the pieces that contain nothing before `end`.
    pub(crate) fn truncate(&mut self, end: Offset, pool: &mut Pieces) {
        let starts_beyond = |number: u64| number * PIECE as u64 >= end.get();
        while let Some((last, _)) = self.pieces.back()
            && starts_beyond(*last)
            && let Some((_, piece)) = self.pieces.pop_back()
        {
            pool.give(piece);
        }
        self.shrink_index();
    }

    #[inline]
    fn shrink_index(&mut self) {
        let (len, places) = (self.pieces.len(), self.pieces.capacity());
        if places > SMALL_INDEX && len * 4 < places {
            self.pieces.shrink_to((2 * len).max(SMALL_INDEX));
        }
    }

    /// Stores octets from `start` on.
    #[inline]
    pub(crate) fn put(&mut self, start: Offset, octets: &[u8], pool: &mut Pieces) {
        let (mut at, mut rest) = (start.get(), octets);
        while !rest.is_empty() {
            let place = at as usize % PIECE;
            let (now, later) = rest.split_at(rest.len().min(PIECE - place));
            let piece = self.piece(at / PIECE as u64, pool);
            piece[place..place + now.len()].copy_from_slice(now);
            at += now.len() as u64;
            rest = later;
        }
    }

    /// Returns the octets of `span`, all of which must have been stored, piece by piece.
    #[inline]
    pub(crate) fn slices(&self, span: Span) -> Slices<'_> {
        Slices {
            ring: self,
            at: span.start.get(),
            end: span.end.get(),
            index: match span.is_empty() {
                true => 0,
                false => self.find(number(span.start)).expect("stored octets"),
            },
        }
    }

    /// Returns the piece with this number.
    #[inline]
    fn piece(&mut self, number: u64, pool: &mut Pieces) -> &mut [u8; PIECE] {
        let index = self.find(number).unwrap_or_else(|index| {
            let piece = (number, pool.take());
            match index == self.pieces.len() {
                true => self.pieces.push_back(piece),
                false => self.pieces.insert(index, piece),
            }
            index
        });
        &mut self.pieces[index].1
    }

    /// Returns the index of the piece with this number, or the index at which to insert it.
    #[inline]
    fn find(&self, number: u64) -> Result<usize, usize> {
        // Most octets follow those that are stored, and most rings have no holes.
        match self.pieces.back() {
            None => Err(0),
            Some((last, _)) if *last < number => Err(self.pieces.len()),
            Some((last, _)) if *last == number => Ok(self.pieces.len() - 1),
            Some(_) => {
                let first = self.pieces.front().map_or(0, |(first, _)| *first);
                let index = number.saturating_sub(first) as usize;
                match self.pieces.get(index) {
                    Some((there, _)) if *there == number => Ok(index),
                    _ => self.search(number),
                }
            }
        }
    }

    #[cold]
    fn search(&self, number: u64) -> Result<usize, usize> {
        self.pieces
            .binary_search_by_key(&number, |(number, _)| *number)
    }
}

/// Returns the number of the piece that contains the octet.
#[inline]
fn number(offset: Offset) -> u64 {
    offset.get() / PIECE as u64
}

/// The octets of a span, piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct Slices<'a> {
    ring: &'a Ring,
    at: u64,
    end: u64,
    /// The index of the piece that holds `at`.
    index: usize,
}

impl<'a> Iterator for Slices<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.at >= self.end {
            return None;
        }
        let (there, piece) = &self.ring.pieces[self.index];
        assert!(*there == self.at / PIECE as u64, "stored octets");
        let place = self.at as usize % PIECE;
        let len = (PIECE - place).min((self.end - self.at) as usize);
        self.at += len as u64;
        self.index += 1;
        Some(&piece[place..place + len])
    }
}

#[cfg(test)]
mod tests;
