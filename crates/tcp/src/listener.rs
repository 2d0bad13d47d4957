//! Sockets that wait for connections: how many may be half open, and how many unaccepted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use tinygram_wire::endpoint::Endpoint;

use super::SocketOptions;

/// A listening socket.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) local: Endpoint,
    pub(super) options: SocketOptions,
    /// Most connections of each kind: half open, and unaccepted.
    backlog: usize,
    /// Half-open connections, the oldest first.
    half_open: BTreeSet<(u64, usize)>,
    next_serial: u64,
    /// Connections that wait to be accepted.
    ready: VecDeque<usize>,
    /// Tasks that wait for a connection, each under its own number.
    acceptors: BTreeMap<u64, Waker>,
}

/// What a listener says to a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may come in, under this serial number.
    Granted(u64),
    /// It may come in, but this socket, the oldest half-open one, must go.
    InsteadOf(u64, usize),
    /// The application accepts too slowly; the SYN is to be lost, and the peer tries again.
    NoRoom,
}

impl Listener {
    pub(super) fn new(local: Endpoint, backlog: usize, options: SocketOptions) -> Self {
        Self {
            local,
            options,
            backlog: backlog.max(1),
            half_open: BTreeSet::new(),
            next_serial: 0,
            ready: VecDeque::new(),
            acceptors: BTreeMap::new(),
        }
    }

    /// Decides about a SYN that has come. Under a flood the oldest half-open connection gives way (RFC 4987, section
    /// 3.4): an honest peer is through the handshake after one round trip, a forged one never.
    pub(super) fn admit(&mut self) -> Admission {
        if self.ready.len() >= self.backlog {
            return Admission::NoRoom;
        }
        self.next_serial += 1;
        if self.half_open.len() < self.backlog {
            return Admission::Granted(self.next_serial);
        }
        let (_, oldest) = *self.half_open.first().expect("a backlog of one at least");
        Admission::InsteadOf(self.next_serial, oldest)
    }

    pub(super) fn opened(&mut self, serial: u64, key: usize) {
        self.half_open.insert((serial, key));
    }

    /// The half-open connection is complete, or gone.
    pub(super) fn closed(&mut self, serial: u64, key: usize) {
        self.half_open.remove(&(serial, key));
    }

    /// A connection waits to be accepted.
    pub(super) fn push_ready(&mut self, key: usize, wakers: &mut Vec<Waker>) {
        self.ready.push_back(key);
        self.wake_acceptors(wakers);
    }

    /// All who wait are woken, for the first of them may be about to turn to something else.
    pub(super) fn wake_acceptors(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(std::mem::take(&mut self.acceptors).into_values());
    }

    /// The task of this number waits for a connection.
    pub(super) fn remember(&mut self, acceptor: u64, waker: &Waker) {
        self.acceptors.insert(acceptor, waker.clone());
    }

    /// It waits no more.
    pub(super) fn forget(&mut self, acceptor: u64) {
        self.acceptors.remove(&acceptor);
    }

    pub(super) fn pop_ready(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    /// Returns whether a connection waits to be accepted.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Returns all sockets that it owns.
    pub(super) fn owned(&self) -> Vec<usize> {
        let half_open = self.half_open.iter().map(|(_, key)| *key);
        half_open.chain(self.ready.iter().copied()).collect()
    }
}
