//! What a thread is yet to write, on several sockets.

use std::collections::VecDeque;

use tinygram_sim::program::Sockets;

/// Writes that wait, by socket.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// The octets of each write that are left.
    writes: Vec<VecDeque<u64>>,
    /// The sockets with something to write that have not refused it.
    ready: Sockets,
    /// The sockets that had no space for a write.
    full: Sockets,
}

impl Outgoing {
    /// Returns nothing to write on the sockets below `sockets`.
    pub(super) fn new(sockets: u32) -> Self {
        Self {
            writes: (0..sockets).map(|_| VecDeque::new()).collect(),
            ready: Sockets::NONE,
            full: Sockets::NONE,
        }
    }

    /// Appends a message of so many octets, cut into so many writes of nearly one size; into fewer if it has fewer octets.
    pub(super) fn push(&mut self, socket: u32, octets: u64, writes: u32) {
        let count = u64::from(writes).max(1).min(octets);
        let until = |piece: u64| octets * piece / count;
        let pieces = (0..count).map(|piece| until(piece + 1) - until(piece));
        self.writes[socket as usize].extend(pieces);
        if !self.full.has(socket) {
            self.ready = self.ready.and(socket);
        }
    }

    /// Returns the next write that may succeed: its socket and its octets.
    pub(super) fn next(&self) -> Option<(u32, u64)> {
        let socket = self.ready.iter().next()?;
        Some((socket, *self.writes[socket as usize].front()?))
    }

    /// Takes note that this many octets of the socket's next write were written.
    pub(super) fn wrote(&mut self, socket: u32, octets: u64) {
        let writes = &mut self.writes[socket as usize];
        match writes.front_mut() {
            Some(first) if octets < *first => {
                *first -= octets;
                self.ready = self.ready.without(socket);
                self.full = self.full.and(socket);
            }
            _ => {
                writes.pop_front();
                if writes.is_empty() {
                    self.ready = self.ready.without(socket);
                }
            }
        }
    }

    /// Returns the sockets that wait for space.
    pub(super) fn full(&self) -> Sockets {
        self.full
    }

    /// Takes note that these sockets have space.
    pub(super) fn have_space(&mut self, sockets: Sockets) {
        for socket in sockets.iter() {
            if self.full.has(socket) {
                self.full = self.full.without(socket);
                self.ready = self.ready.and(socket);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_as_many_writes_as_asked() {
        let mut out = Outgoing::new(2);
        out.push(1, 10, 3);
        out.push(1, 10, 6);
        out.push(0, 1, 5);
        let mut seen = Vec::new();
        while let Some((socket, octets)) = out.next() {
            seen.push((socket, octets));
            out.wrote(socket, octets);
        }
        let mut expected = vec![(0, 1)];
        expected.extend([3, 3, 4].map(|octets| (1, octets)));
        expected.extend([1, 2, 2, 1, 2, 2].map(|octets| (1, octets)));
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_write_that_was_refused_waits_for_space() {
        let mut out = Outgoing::new(1);
        out.push(0, 10, 1);
        out.wrote(0, 4);
        assert_eq!((out.next(), out.full()), (None, Sockets::one(0)));
        out.push(0, 5, 1);
        assert_eq!(out.next(), None, "the order is kept");
        out.have_space(Sockets::one(0));
        assert_eq!(out.next(), Some((0, 6)));
    }
}
