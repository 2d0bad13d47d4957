//! Rings against the one block of memory that they used to be.

use proptest::prelude::*;

use super::*;

/// The old model: a block whose length is a power of two, in which an octet's place is its offset
/// modulo that length.
struct Block(Vec<u8>);

impl Block {
    fn put(&mut self, start: u64, octets: &[u8]) {
        let len = self.0.len() as u64;
        for (at, octet) in (start..).zip(octets) {
            self.0[(at % len) as usize] = *octet;
        }
    }

    fn get(&self, span: Span) -> Vec<u8> {
        let len = self.0.len() as u64;
        let places = span.start.get()..span.end.get();
        places.map(|at| self.0[(at % len) as usize]).collect()
    }
}

const WINDOW: u64 = 1 << 16;

/// A step of a reader or of what arrives.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So far beyond what was read, this many octets.
    Arrives(u64, u64),
    Reads(u64),
    /// What lies beyond a hole is given up.
    Prunes,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..WINDOW, 1_u64..9000).prop_map(|(ahead, len)| Step::Arrives(ahead, len)),
        4 => (0_u64..9000).prop_map(|len| Step::Arrives(0, len)),
        3 => (0_u64..30_000).prop_map(Step::Reads),
        1 => Just(Step::Prunes),
    ]
}

/// What has arrived, as ordered and disjoint ranges, the first of which is in order.
#[derive(Default)]
struct Arrived(Vec<(u64, u64)>);

impl Arrived {
    fn add(&mut self, start: u64, end: u64) {
        self.0.push((start, end));
        self.0.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in std::mem::take(&mut self.0) {
            match joined.last_mut() {
                Some(last) if last.1 >= start => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        self.0 = joined;
    }

    /// Returns the end of what is in order from `read` on.
    fn next(&self, read: u64) -> u64 {
        let first = self.0.first();
        first
            .filter(|(start, _)| *start <= read)
            .map_or(read, |(_, end)| *end)
    }
}

proptest! {
    /// Whatever arrives in whatever order, a ring returns the octets that the block returned; and it
    /// has only pieces in which something is stored that is still needed.
    #[test]
    fn a_ring_of_pieces_returns_what_one_block_returned(
        steps in prop::collection::vec(step(), 1..80),
        begin in 1_u64..5000,
    ) {
        let (mut pool, mut ring) = (Pieces::default(), Ring::default());
        let mut block = Block(vec![0; 2 * WINDOW as usize]);
        let (mut read, mut arrived) = (begin, Arrived::default());
        let offset = Offset::new;
        for (at, step) in steps.into_iter().enumerate() {
            match step {
                Step::Arrives(ahead, len) => {
                    let next = arrived.next(read);
                    let start = if ahead == 0 { next } else { read + ahead };
                    let end = (start + len).min(read + WINDOW);
                    let octets: Vec<u8> = (start..end).map(|n| (n * 31 + at as u64) as u8).collect();
                    if !octets.is_empty() {
                        ring.put(offset(start), &octets, &mut pool);
                        block.put(start, &octets);
                        arrived.add(start, end);
                    }
                }
                Step::Reads(len) => {
                    let next = arrived.next(read);
                    let span = Span::new(offset(read), offset((read + len).min(next)));
                    let octets: Vec<u8> = ring.slices(span).flatten().copied().collect();
                    prop_assert_eq!(octets, block.get(span));
                    read = span.end.get();
                    let held = arrived.0.last().map_or(read, |(_, end)| *end);
                    ring.discard(offset(read), offset(held), &mut pool);
                    arrived.0.retain_mut(|range| {
                        range.0 = range.0.max(read);
                        range.0 < range.1
                    });
                }
                Step::Prunes => {
                    let next = arrived.next(read);
                    ring.truncate(offset(next), &mut pool);
                    ring.discard(offset(read), offset(next), &mut pool);
                    arrived.0.retain(|(start, _)| *start < next);
                }
            }
            for (start, end) in &arrived.0 {
                let span = Span::new(offset(*start), offset(*end));
                let octets: Vec<u8> = ring.slices(span).flatten().copied().collect();
                prop_assert_eq!(octets, block.get(span));
            }
            let needed: std::collections::BTreeSet<u64> = arrived
                .0
                .iter()
                .flat_map(|(start, end)| start / PIECE as u64..=(end - 1) / PIECE as u64)
                .collect();
            // The piece that was read in part may wait for what follows.
            let present = number(offset(read));
            let there = ring.pieces.iter().map(|(number, _)| *number);
            let others = there.filter(|number| needed.contains(number) || *number != present);
            prop_assert!(others.eq(needed.iter().copied()));
            prop_assert_eq!(pool.used(), ring.pieces.len());
            let index = ring.pieces.capacity() * size_of::<(u64, Piece)>();
            let most = SMALL_INDEX * size_of::<(u64, Piece)>() + pool.used() * (COST - PIECE);
            prop_assert!(index <= most, "{index} octets of index for {}", pool.used());
        }
        ring.release(&mut pool);
        prop_assert_eq!(pool.used(), 0);
    }
}

#[test]
fn one_octet_far_away_takes_one_piece() {
    let (mut pool, mut ring) = (Pieces::default(), Ring::default());
    ring.put(Offset::new(1 << 20), b"x", &mut pool);
    assert_eq!(ring.allocated(), COST);
    for n in 0..64 {
        ring.put(Offset::new(1 + n * 16_000), b"x", &mut pool);
    }
    assert_eq!(pool.used(), 65);
}
