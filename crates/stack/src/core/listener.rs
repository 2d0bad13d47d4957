//! Sockets that wait for connections: how many may be half open, and how many unaccepted.

use std::collections::{BTreeSet, VecDeque};
use std::task::Waker;

use tinygram_wire::decode::Endpoint;

use crate::options::SocketOptions;

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
    /// Tasks that wait for a connection.
    acceptors: Vec<Waker>,
}

/// Before more tasks than this wait, those that do are asked whether they still do: one that has
/// turned to something else has left its waker here.
const MOST_ACCEPTORS: usize = 64;

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
            acceptors: Vec::new(),
        }
    }

    /// A SYN has come. Under a flood the oldest half-open connection gives way (RFC 4987, section
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

    /// A connection waits to be accepted. All who wait are woken, for the first of them may have
    /// turned to something else.
    pub(super) fn push_ready(&mut self, key: usize, wakers: &mut Vec<Waker>) {
        self.ready.push_back(key);
        wakers.append(&mut self.acceptors);
    }

    /// Somebody waits for a connection.
    pub(super) fn remember(&mut self, acceptor: &Waker, wakers: &mut Vec<Waker>) {
        if self.acceptors.iter().any(|one| one.will_wake(acceptor)) {
            return;
        }
        if self.acceptors.len() >= MOST_ACCEPTORS {
            wakers.append(&mut self.acceptors);
        }
        self.acceptors.push(acceptor.clone());
    }

    pub(super) fn pop_ready(&mut self) -> Option<usize> {
        self.ready.pop_front()
    }

    /// All sockets that it owns.
    pub(super) fn owned(&self) -> Vec<usize> {
        let half_open = self.half_open.iter().map(|(_, key)| *key);
        half_open.chain(self.ready.iter().copied()).collect()
    }
}
