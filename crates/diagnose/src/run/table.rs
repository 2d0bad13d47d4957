//! All live connections, in bounded memory.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;
use tinygram_wire::endpoint::Endpoint;

use crate::conversation::Conversation;
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;

/// Connections by their ends. The table holds at most `limit`; beyond that it removes approximately
/// those that have been silent longest (by a clock hand, as in page caches).
pub(crate) struct Table {
    slots: Vec<Option<Conversation>>,
    free: Vec<u32>,
    index: HashTable<Entry>,
    /// Connections that have ended; they are kept for their last acknowledgments, which would
    /// otherwise look like new connections.
    closed: VecDeque<u32>,
    hand: usize,
    limit: usize,
    /// How many ended connections are kept.
    linger: usize,
    key: Key,
    /// For each hash, cut to the bits of a place in this list, the slot of a connection that has it. There is room for twice
    /// as many as there are slots.
    hints: Vec<u32>,
}

/// Where a connection is.
#[derive(Clone, Copy)]
struct Entry {
    slot: u32,
    hash: u32,
}

/// What makes hashes of connections differ in each process, so that a hostile capture cannot aim at one bucket.
#[derive(Clone, Copy)]
pub(crate) struct Key(u64);

/// A slot in which a connection probably is.
#[derive(Clone, Copy)]
pub(crate) struct Hint(u32);

impl Hint {
    pub(crate) const NONE: Self = Self(u32::MAX);
}

impl Key {
    /// Returns another one each time.
    pub(crate) fn random() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// Hashes the ends of a connection, whichever is named first. Each end takes one round of folded multiplication:
    /// enough to spread addresses and ports.
    #[inline]
    pub(crate) fn hash(self, [a, b]: &[Endpoint; 2]) -> u32 {
        let each = |end: &Endpoint| {
            let rest = u64::from(end.port)
                .wrapping_mul(self.0)
                .wrapping_add(end.high);
            fold(end.low ^ self.0, rest ^ self.0.rotate_left(32))
        };
        let both = each(a).wrapping_add(each(b));
        (both >> 32) as u32 ^ both as u32
    }
}

impl Table {
    /// Returns an empty table. It keeps `linger` connections that have ended.
    pub(crate) fn new(limit: usize, linger: usize, key: Key) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            closed: VecDeque::new(),
            hand: 0,
            limit: limit.max(1),
            linger,
            key,
            hints: vec![0; 64],
        }
    }

    /// Lets the memory be read in which the hint for this hash is.
    #[inline]
    pub(crate) fn fetch_hint(&self, hash: u32) {
        let at = hash as usize & (self.hints.len() - 1);
        fetch(&self.hints[at], 0..1);
    }

    /// Returns the slot in which a connection with this hash probably is, and lets the memory be read that a segment touches
    /// which tells most of the data of one end.
    #[inline]
    pub(crate) fn foresee(&self, hash: u32, end: u8) -> Hint {
        let slot = self.hints[hash as usize & (self.hints.len() - 1)];
        if let Some(connection) = self.slots.get(slot as usize) {
            for lines in Conversation::lines(end.into()) {
                fetch(connection, lines);
            }
        }
        Hint(slot)
    }

    /// Returns the slot of a connection, if there is one. It is looked for at a hint first.
    #[expect(
        clippy::inline_always,
        reason = "the ends stay in registers; it is called once for each segment, at one place"
    )]
    #[inline(always)]
    pub(crate) fn find(&mut self, ends: &Ends, hash: u32, hint: Hint) -> Option<usize> {
        if let Some(Some(connection)) = self.slots.get(hint.0 as usize)
            && connection.flow.ends == *ends
        {
            return Some(hint.0 as usize);
        }
        self.look_up(ends, hash)
    }

    #[inline(never)]
    fn look_up(&mut self, ends: &Ends, hash: u32) -> Option<usize> {
        let slots = &self.slots;
        let known = self.index.find(spread(hash), |entry| {
            entry.hash == hash && is(slots, entry.slot, ends)
        });
        let slot = known?.slot;
        self.give_hint(slot, hash);
        Some(slot as usize)
    }

    #[inline]
    fn give_hint(&mut self, slot: u32, hash: u32) {
        let at = hash as usize & (self.hints.len() - 1);
        self.hints[at] = slot;
    }

    #[inline]
    pub(crate) fn get(&mut self, slot: usize) -> &mut Conversation {
        self.slots[slot].as_mut().expect("slots in use are filled")
    }

    /// Returns the connection in a slot, if there is one.
    pub(crate) fn peek(&self, slot: usize) -> Option<&Conversation> {
        self.slots.get(slot)?.as_ref()
    }

    /// Notes that a connection has ended; returns one that ended earlier and is now removed.
    pub(crate) fn close(&mut self, slot: usize) -> Option<(usize, Conversation)> {
        self.closed.push_back(slot as u32);
        if self.closed.len() <= self.linger {
            return None;
        }
        let oldest = self.closed.pop_front()? as usize;
        // Another connection may have taken the slot or the ports since.
        match &self.slots[oldest] {
            Some(connection) if connection.flow.closed => Some((oldest, self.take(oldest)?)),
            _ => None,
        }
    }

    /// Begins another connection on the same ports; returns the old one.
    pub(crate) fn replace(&mut self, slot: usize, mark: Mark) -> Conversation {
        let old = self.get(slot);
        let fresh = Conversation::new(old.flow.ends, 0, mark);
        std::mem::replace(old, fresh)
    }

    /// Returns the slots in use.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(slot, it)| it.as_ref().map(|_| slot))
    }

    /// Removes a connection if the table is full.
    pub(crate) fn make_room(&mut self) -> Option<(usize, Conversation)> {
        if self.index.len() < self.limit {
            return None;
        }
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            match &mut self.slots[self.hand] {
                Some(connection) if connection.flow.recent => connection.flow.recent = false,
                Some(_) => return Some((self.hand, self.take(self.hand)?)),
                None => {}
            }
        }
    }

    /// Makes a connection; `hash` is that of its ends. Returns its slot.
    pub(crate) fn insert(&mut self, ends: &Ends, hash: u32, mark: Mark) -> usize {
        let connection = Conversation::new(*ends, 0, mark);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(connection);
                slot
            }
            None => {
                self.slots.push(Some(connection));
                (self.slots.len() - 1) as u32
            }
        };
        let entry = Entry { slot, hash };
        self.index
            .insert_unique(spread(hash), entry, |entry| spread(entry.hash));
        if self.hints.len() < 2 * self.slots.len() {
            let mask = 2 * self.hints.len() - 1;
            self.hints = vec![0; mask + 1];
            for entry in &self.index {
                self.hints[entry.hash as usize & mask] = entry.slot;
            }
        }
        self.give_hint(slot, hash);
        slot as usize
    }

    /// Removes a connection.
    pub(crate) fn take(&mut self, slot: usize) -> Option<Conversation> {
        let connection = self.slots[slot].take()?;
        let hash = self.key.hash(&connection.flow.ends.ends);
        let is_it = |entry: &Entry| entry.slot as usize == slot;
        if let Ok(entry) = self.index.find_entry(spread(hash), is_it) {
            entry.remove();
        }
        self.free.push(slot as u32);
        Some(connection)
    }
}

/// Returns which of so many shares the connection of two ends belongs to, whichever is named first: the same in every
/// process.
#[inline]
pub(crate) fn share(a: &Endpoint, b: &Endpoint, shares: usize) -> usize {
    let addresses = (a.low ^ a.high).wrapping_add(b.low ^ b.high);
    let ports = u64::from(a.port) + u64::from(b.port);
    let mixed = (addresses ^ ports.rotate_left(32)).wrapping_mul(SPREADS);
    (mixed >> 48) as usize & (shares - 1)
}

#[inline]
fn is(slots: &[Option<Conversation>], slot: u32, ends: &Ends) -> bool {
    slots[slot as usize]
        .as_ref()
        .is_some_and(|c| c.flow.ends == *ends)
}

/// Spreads a hash over the 64 bits of which the index takes the uppermost and the lowest.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Lets the processor fetch some cache lines of a thing which will soon be needed, where it has an instruction for that.
#[inline]
fn fetch<T>(soon: &T, lines: Range<usize>) {
    #[cfg(target_arch = "x86_64")]
    for line in lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = std::ptr::from_ref(soon)
            .cast::<i8>()
            .wrapping_add(64 * line);
        // SAFETY: fetching reads nothing and changes nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (soon, lines);
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// The golden ratio's fraction of 2^64: multiplied by it, neighbours come far apart in the upper bits.
const SPREADS: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests;
