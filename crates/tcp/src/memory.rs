//! The bound on the memory of all connections' buffers.
//!
//! Three quarters of it are for whoever comes first. When these are used, all data beyond holes is
//! given up first, as Linux does (`tcp_prune_ofo_queue`; RFC 2018, section 8: the peers send it
//! again). If that frees too little, memory is *scarce*: every connection's buffers are bounded to
//! two segments, so that writers wait and windows close, without taking back what was announced. The
//! last quarter then serves those two segments and what was announced before. If even that is used,
//! data that arrives is dropped like data that the network lost, and writers wait. So the bound holds
//! whatever peers and applications do.

use tinygram_engine::{Instant, Segment};

use super::Core;
use super::ring::{COST, PIECE, Pieces};
use super::socket::Socket;

/// The pieces of all rings and how many there may be.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) pieces: Pieces,
    /// The most pieces.
    most: usize,
    /// The pieces up to which more may be used without a second thought.
    mark: usize,
    /// Whether every connection's buffers are bounded.
    scarce: bool,
    /// Writers for which there was no memory at all.
    starved: Vec<usize>,
}

/// The octets that all buffers may take unless the application sets another bound.
pub const USUAL_MEMORY: usize = 256 << 20;

/// The least bound in octets: a packet of 64 KiB must find a place.
const LEAST: usize = 1 << 20;

impl Default for Memory {
    fn default() -> Self {
        let mut memory = Self {
            pieces: Pieces::default(),
            most: 0,
            mark: 0,
            scarce: false,
            starved: Vec::new(),
        };
        memory.set_most(USUAL_MEMORY);
        memory
    }
}

impl Memory {
    fn set_most(&mut self, octets: usize) {
        self.most = octets.max(LEAST) / COST;
        self.set_scarce(self.scarce);
    }

    fn set_scarce(&mut self, scarce: bool) {
        self.scarce = scarce;
        self.mark = if scarce { self.most } else { self.most / 4 * 3 };
    }

    /// Returns whether this many octets may be stored.
    #[inline]
    fn fits(&self, octets: usize) -> bool {
        // They begin and end within pieces.
        self.pieces.used() + octets / PIECE + 2 <= self.mark
    }

    /// Returns how many octets may be stored at most.
    fn room(&self) -> usize {
        let pieces = self.mark.saturating_sub(self.pieces.used() + 2);
        pieces * PIECE
    }

    /// Returns whether so much has become free that memory is no longer scarce. The distance to the
    /// mark at which it becomes scarce bounds how often all connections are told.
    #[inline]
    fn is_enough(&self) -> bool {
        self.pieces.used() < self.most / 8 * 5
    }

    /// Returns whether starved writers may try again.
    fn feeds(&self) -> bool {
        self.pieces.used() + self.most / 16 < self.mark
    }

    /// Returns the octets that are taken, with the pieces that are kept for the next use.
    fn resident(&self) -> usize {
        (self.pieces.used() + self.pieces.spare()) * COST
    }
}

impl Core {
    /// Bounds the memory of all connections' buffers to this many octets (at least 1 MiB; at first
    /// 256 MiB). When three quarters are used, data beyond holes is given up, and if that does not
    /// suffice, windows close and writers wait until less is used. If more is used than a new bound
    /// allows, nothing more is stored until that much was freed.
    pub fn set_memory(&mut self, octets: usize) {
        self.memory.set_most(octets);
        self.memory.pieces.free_spare();
    }

    /// Returns how many octets of memory all buffers take, each piece with its place in an index.
    #[must_use]
    pub fn allocated(&self) -> usize {
        self.memory.pieces.used() * COST
    }

    /// Returns how many octets of memory all buffers take, and what is kept for their next use (at
    /// most 1 MiB): never more than [`Core::set_memory`] allows.
    #[must_use]
    pub fn resident(&self) -> usize {
        self.memory.resident()
    }

    /// Returns whether memory is scarce, so that windows close and writers wait.
    #[must_use]
    pub fn is_memory_scarce(&self) -> bool {
        self.memory.scarce
    }

    /// Returns whether there is memory for `octets` more without a second thought.
    #[inline]
    pub(super) fn has_memory(&self, octets: usize) -> bool {
        self.memory.fits(octets)
    }

    /// Returns whether the segment's data may be stored. Frees memory if there is too little.
    #[inline]
    pub(super) fn may_store(&mut self, now: Instant, key: usize, segment: &Segment) -> bool {
        let plenty = !self.memory.scarce && self.has_memory(segment.len as usize);
        plenty || self.may_store_more(now, key, segment)
    }

    #[cold]
    fn may_store_more(&mut self, now: Instant, key: usize, segment: &Segment) -> bool {
        let octets = segment.len as usize;
        self.make_room(now, octets);
        let nxt = self.sockets[key].connection.receiver().nxt();
        let beyond_a_hole = segment.data().start > nxt;
        self.has_memory(octets) && !(self.memory.scarce && beyond_a_hole)
    }

    /// Returns how many of `octets` a writer may store; remembers the writer if none.
    #[inline]
    pub(super) fn room_to_write(&mut self, now: Instant, key: usize, octets: u64) -> u64 {
        match self.has_memory(octets as usize) {
            true => octets,
            false => self.little_room_to_write(now, key, octets),
        }
    }

    #[cold]
    fn little_room_to_write(&mut self, now: Instant, key: usize, octets: u64) -> u64 {
        // Another connection's turn may come; so far the outbox holds what this one sends.
        self.settle(key);
        if self.memory.room() == 0 {
            self.make_room(now, PIECE);
        }
        let octets = octets.min(self.memory.room() as u64);
        if octets == 0 && !self.memory.starved.contains(&key) {
            self.memory.starved.push(key);
        }
        octets
    }

    /// Frees memory until `octets` more fit, or bounds all connections' buffers.
    fn make_room(&mut self, now: Instant, octets: usize) {
        if self.memory.scarce || self.has_memory(octets) {
            return;
        }
        // What was gathered is in a ring, and the engine does not know of it yet.
        self.on_batch_end(now);
        for (_, socket) in &mut self.sockets {
            let given_up = socket.prune(&mut self.memory.pieces);
            self.counters.pruned += given_up;
        }
        if self.memory.is_enough() && self.has_memory(octets) {
            return;
        }
        self.memory.set_scarce(true);
        self.memory.pieces.free_spare();
        for (_, socket) in &mut self.sockets {
            socket.limit();
        }
    }

    /// Ends the scarcity of memory if enough has become free, and wakes writers that starved.
    #[inline]
    pub(super) fn relieve(&mut self, now: Instant) {
        if self.memory.scarce {
            self.relieve_if_enough(now);
        }
    }

    #[cold]
    fn relieve_if_enough(&mut self, now: Instant) {
        if self.memory.is_enough() {
            self.memory.set_scarce(false);
            let keys: Vec<usize> = self.sockets.iter().map(|(key, _)| key).collect();
            for key in keys {
                // One that is settled may end others.
                if let Some(socket) = self.sockets.get_mut(key) {
                    socket.connection.unlimit_buffers(now, &mut self.outbox);
                    self.settle(key);
                }
            }
        }
        if self.memory.feeds() {
            for key in std::mem::take(&mut self.memory.starved) {
                if let Some(socket) = self.sockets.get_mut(key) {
                    socket.wake_writer(&mut self.wakers);
                }
            }
        }
    }
}

impl Socket {
    /// Gives up data beyond a hole; returns how many octets.
    fn prune(&mut self, pieces: &mut Pieces) -> u64 {
        let receiver = self.connection.receiver();
        let ranges = receiver.out_of_order().iter();
        let octets: u64 = ranges.map(|range| range.len()).sum();
        if octets > 0 {
            let (read, nxt) = (receiver.read_up_to(), receiver.nxt());
            self.connection.discard_out_of_order();
            self.receive.truncate(nxt, pieces);
            self.receive.discard(read, nxt, pieces);
        }
        octets
    }

    /// Bounds both buffers to two segments.
    pub(super) fn limit(&mut self) {
        let mss = u64::from(self.connection.receiver().mss());
        self.connection
            .limit_buffers((2 * mss).max(2 * PIECE as u64));
    }
}
