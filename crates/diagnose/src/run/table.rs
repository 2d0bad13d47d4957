//! All live connections, in bounded memory.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};

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
    index: HashTable<u32>,
    /// Connections that have ended; they are kept for their last acknowledgments, which would
    /// otherwise look like new connections.
    closed: VecDeque<u32>,
    hand: usize,
    limit: usize,
    /// How many ended connections are kept.
    linger: usize,
    /// Random per process, so that a hostile capture cannot aim at one bucket.
    key: u64,
}

impl Table {
    /// Returns an empty table. It keeps `linger` connections that have ended.
    pub(crate) fn new(limit: usize, linger: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            closed: VecDeque::new(),
            hand: 0,
            limit: limit.max(1),
            linger,
            key: RandomState::new().build_hasher().finish(),
        }
    }

    /// Returns the slot of a connection, if there is one, and its hash.
    #[expect(
        clippy::inline_always,
        reason = "the ends stay in registers; it is called once for each segment, at one place"
    )]
    #[inline(always)]
    pub(crate) fn find(&self, ends: &Ends) -> (Option<usize>, u64) {
        let hash = hash(ends, self.key);
        let slots = &self.slots;
        let known = self.index.find(hash, |&slot| is(slots, slot, ends));
        (known.map(|&slot| slot as usize), hash)
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
    pub(crate) fn insert(&mut self, ends: &Ends, hash: u64, mark: Mark) -> usize {
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
        let (slots, key) = (&self.slots, self.key);
        self.index.insert_unique(hash, slot, |&slot| {
            slots[slot as usize]
                .as_ref()
                .map_or(0, |c| self::hash(&c.flow.ends, key))
        });
        slot as usize
    }

    /// Removes a connection.
    pub(crate) fn take(&mut self, slot: usize) -> Option<Conversation> {
        let connection = self.slots[slot].take()?;
        if let Ok(entry) = self
            .index
            .find_entry(hash(&connection.flow.ends, self.key), |&s| {
                s as usize == slot
            })
        {
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

/// Hashes by two rounds of folded multiplication: enough to spread addresses and ports.
#[inline]
fn hash(ends: &Ends, key: u64) -> u64 {
    let [a, b] = &ends.ends;
    let ports = u64::from(a.port) << 16 | u64::from(b.port);
    let x = fold(
        a.low ^ key,
        b.low ^ ports.wrapping_mul(SPREADS) ^ key.rotate_left(32),
    );
    fold(x ^ a.high, b.high ^ key)
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
