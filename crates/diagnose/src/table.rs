//! All live connections, in bounded memory.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};

use hashbrown::HashTable;

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
    first_id: u32,
    next_id: u32,
    /// Random per process, so that a hostile capture cannot aim at one bucket.
    key: u64,
}

impl Table {
    pub(crate) fn new(limit: usize, first_id: u32) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            closed: VecDeque::new(),
            hand: 0,
            limit: limit.max(1),
            first_id,
            next_id: first_id,
            key: RandomState::new().build_hasher().finish(),
        }
    }

    /// Returns the slot of a connection and makes one if there is none; `left` gets a connection
    /// that was removed to make room.
    #[inline]
    pub(crate) fn slot(
        &mut self,
        ends: &Ends,
        mark: Mark,
        left: impl FnOnce(Conversation),
    ) -> usize {
        let hash = hash(ends, self.key);
        let slots = &self.slots;
        let known = self
            .index
            .find(hash, |&slot| is(slots, slot, ends))
            .copied();
        match known {
            Some(slot) => slot as usize,
            None => self.insert(ends, hash, mark, left),
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, slot: usize) -> &mut Conversation {
        self.slots[slot].as_mut().expect("slots in use are filled")
    }

    /// Notes that a connection has ended; returns one that ended earlier and is now removed.
    pub(crate) fn close(&mut self, slot: usize) -> Option<Conversation> {
        self.closed.push_back(slot as u32);
        if self.closed.len() <= LINGER {
            return None;
        }
        let oldest = self.closed.pop_front()?;
        // Another connection may have taken the slot or the ports since.
        match &self.slots[oldest as usize] {
            Some(connection) if connection.flow.closed => self.remove(oldest as usize),
            _ => None,
        }
    }

    /// Begins another connection on the same ports; returns the old one.
    pub(crate) fn replace(&mut self, slot: usize, mark: Mark) -> Conversation {
        let id = self.take_id();
        let old = self.get(slot);
        let fresh = Conversation::new(old.flow.ends, id, mark);
        std::mem::replace(old, fresh)
    }

    /// Returns a live connection by its number.
    pub(crate) fn find(&self, id: u32) -> Option<&Conversation> {
        self.slots.iter().flatten().find(|c| c.flow.id == id)
    }

    pub(crate) fn connections(&self) -> u32 {
        self.next_id - self.first_id
    }

    /// Takes all connections out, one by one, in order of appearance.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Conversation> + use<> {
        let id = |slot: &Option<Conversation>| slot.as_ref().map(|c| c.flow.id);
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        order.sort_unstable_by_key(|&slot| id(&self.slots[slot]));
        let mut slots = std::mem::take(&mut self.slots);
        self.index.clear();
        self.free.clear();
        self.closed.clear();
        order.into_iter().filter_map(move |slot| slots[slot].take())
    }

    #[cold]
    fn insert(
        &mut self,
        ends: &Ends,
        hash: u64,
        mark: Mark,
        left: impl FnOnce(Conversation),
    ) -> usize {
        if self.index.len() >= self.limit
            && let Some(victim) = self.victim()
        {
            left(victim);
        }
        let connection = Conversation::new(*ends, self.take_id(), mark);
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

    fn take_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn victim(&mut self) -> Option<Conversation> {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            match &mut self.slots[self.hand] {
                Some(connection) if connection.flow.recent => connection.flow.recent = false,
                Some(_) => return self.remove(self.hand),
                None => {}
            }
        }
    }

    fn remove(&mut self, slot: usize) -> Option<Conversation> {
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
        b.low ^ ports.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key.rotate_left(32),
    );
    fold(x ^ a.high, b.high ^ key)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// How many ended connections are kept for their last segments.
const LINGER: usize = 1024;

#[cfg(test)]
mod tests;
