//! Listening sockets: how many of their connections may be half open, and how many unaccepted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;

use tinygram_engine::Instant;
use tinygram_wire::endpoint::Endpoint;

use super::SocketOptions;

/// A listening socket.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) local: Endpoint,
    /// A number that no other listener of this stack has.
    pub(super) generation: u64,
    pub(super) options: SocketOptions,
    /// The most half-open connections, and the most unaccepted ones.
    backlog: usize,
    /// Half-open connections, the oldest first.
    half_open: BTreeSet<(u64, usize)>,
    next_serial: u64,
    /// When the last SYN cookie that was sent is too old.
    pub(super) cookies_until: Instant,
    /// Connections that wait to be accepted.
    ready: VecDeque<usize>,
    /// Tasks that wait for a connection, each under its own number.
    acceptors: BTreeMap<u64, Waker>,
}

/// A listener's decision about a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Accepted, under this serial number.
    Granted(u64),
    /// Accepted under this serial number, but this socket, the oldest half-open one, must go.
    InsteadOf(u64, usize),
    /// Answered with a cookie, and not stored.
    Cookie,
    /// The application accepts too slowly: the SYN is dropped, and the peer tries again.
    NoRoom,
}

impl Listener {
    pub(super) fn new(
        local: Endpoint,
        generation: u64,
        backlog: usize,
        options: SocketOptions,
    ) -> Self {
        Self {
            local,
            generation,
            options,
            backlog: backlog.max(1),
            half_open: BTreeSet::new(),
            next_serial: 0,
            cookies_until: Instant::ZERO,
            ready: VecDeque::new(),
            acceptors: BTreeMap::new(),
        }
    }

    /// Decides about a SYN. Under a flood it is answered with a cookie (RFC 4987, section 3.6), or
    /// the oldest half-open connection is dropped (section 3.4): an honest peer completes the
    /// handshake after one round trip, a forged one never does.
    pub(super) fn admit(&mut self) -> Admission {
        if !self.has_room() {
            return Admission::NoRoom;
        }
        self.next_serial += 1;
        if self.half_open.len() < self.backlog {
            return Admission::Granted(self.next_serial);
        }
        if self.options.rules().syn_cookies {
            return Admission::Cookie;
        }
        let (_, oldest) = *self.half_open.first().expect("a backlog of one at least");
        Admission::InsteadOf(self.next_serial, oldest)
    }

    /// Returns whether one more connection may wait to be accepted.
    pub(super) fn has_room(&self) -> bool {
        self.ready.len() < self.backlog
    }

    pub(super) fn opened(&mut self, serial: u64, key: usize) {
        self.half_open.insert((serial, key));
    }

    /// Records that the half-open connection is complete or gone.
    pub(super) fn closed(&mut self, serial: u64, key: usize) {
        self.half_open.remove(&(serial, key));
    }

    /// Adds a connection that waits to be accepted.
    pub(super) fn push_ready(&mut self, key: usize, wakers: &mut Vec<Waker>) {
        self.ready.push_back(key);
        self.wake_acceptors(wakers);
    }

    /// Wakes all waiting tasks, because the first of them may be about to stop waiting.
    pub(super) fn wake_acceptors(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(std::mem::take(&mut self.acceptors).into_values());
    }

    /// Records that the task with this number waits for a connection.
    pub(super) fn remember(&mut self, acceptor: u64, waker: &Waker) {
        self.acceptors.insert(acceptor, waker.clone());
    }

    /// Records that it no longer waits.
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
