//! What poll(2) would report, and further queries that do not wait.

use std::io;
use std::net::IpAddr;

use tinygram_engine::{Span, State};

use super::keys::{ConnectionKey, ListenerKey};
use super::socket::Socket;
use super::{Core, SocketOptions};

/// What can be done with a connection without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// A read returns octets, the end or an error (POLLIN).
    pub readable: bool,
    /// A write accepts octets or fails (POLLOUT).
    pub writable: bool,
    /// Nothing more will come from the peer: it has closed, or this side no longer reads (POLLRDHUP).
    pub peer_closed: bool,
    /// Nothing passes in either direction any more (POLLHUP).
    pub hung_up: bool,
    /// Urgent data has come and was not read (POLLPRI).
    pub priority: bool,
    /// An error is pending (POLLERR).
    pub failed: bool,
}

impl Core {
    /// Returns what can be done with a connection without waiting.
    #[must_use]
    pub fn readiness(&self, key: ConnectionKey) -> Readiness {
        let key = self.place(key);
        let socket = &self.sockets[key];
        let connection = &socket.connection;
        let state = connection.state();
        let opening = matches!(state, State::SynSent | State::SynReceived);
        let closed = state == State::Closed;
        let receiver = connection.receiver();
        let peer_closed = receiver.fin_received() || socket.reading_closed || closed;
        let writing_closed = connection.sender().is_finishing() || closed;
        let failed = socket.error.is_some();
        Readiness {
            readable: socket.has_enough_to_read() || peer_closed || failed,
            writable: !opening && (writing_closed || connection.is_writable()) || failed,
            peer_closed,
            hung_up: closed || peer_closed && writing_closed,
            priority: socket.has_urgent(),
            failed,
        }
    }

    /// Returns whether a connection waits to be accepted.
    #[must_use]
    pub fn has_ready(&self, listener: ListenerKey) -> bool {
        let listener = self.listener_place(listener);
        self.listeners[listener].has_ready()
    }

    /// Returns the options for connections that arrive from now on.
    pub fn listener_options(&mut self, listener: ListenerKey) -> &mut SocketOptions {
        let listener = self.listener_place(listener);
        &mut self.listeners[listener].options
    }

    /// Returns and clears the error that the next call would have reported (SO_ERROR).
    pub fn take_error(&mut self, key: ConnectionKey) -> Option<io::Error> {
        let key = self.place(key);
        self.sockets[key].error.take().map(Into::into)
    }

    /// Returns what a read of at most `most` octets would return, in pieces, without removing it
    /// (MSG_PEEK).
    pub fn peek(&self, key: ConnectionKey, most: usize) -> impl Iterator<Item = &[u8]> {
        let key = self.place(key);
        let socket = &self.sockets[key];
        let octets = socket.readable().min(most as u64);
        let start = socket.reads_from();
        socket.receive.slices(Span::new(start, start + octets))
    }

    /// Closes the reading side (SHUT_RD): reads return what is there and then the end. What comes
    /// later is acknowledged, as on Linux, and can still be read. Once the other side is closed as
    /// well ([`Core::shutdown`]), what comes resets the connection (RFC 9293, section 3.6.1).
    pub fn shutdown_read(&mut self, key: ConnectionKey) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.connection.read_no_more();
        socket.reading_closed = true;
        socket.wake_reader(&mut self.wakers);
    }

    /// Returns whether everything that was written is acknowledged, including the FIN if this side
    /// has closed.
    #[must_use]
    pub fn is_flushed(&self, key: ConnectionKey) -> bool {
        let key = self.place(key);
        self.sockets[key].is_flushed()
    }

    /// Adds an address to the stack.
    pub fn add_address(&mut self, address: IpAddr) {
        if !self.device_gone && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }

    /// Returns the state and the local port of every connection.
    pub fn states(&self) -> impl Iterator<Item = (State, u16)> {
        let sockets = self.sockets.iter().map(|(_, socket)| socket);
        sockets.map(|socket| (socket.connection.state(), socket.pair().local.port))
    }

    /// Resets all connections in those states, as an administrator may (`tcpdrop`, `ss -K`).
    pub fn drop_connections(&mut self, in_state: impl Fn(State) -> bool) {
        let of_those = |socket: &Socket| in_state(socket.connection.state());
        let keys: Vec<usize> = self
            .sockets
            .iter()
            .filter(|(_, socket)| of_those(socket))
            .map(|(key, _)| key)
            .collect();
        for key in keys {
            self.abort_in(key);
        }
    }
}

impl Socket {
    /// Returns whether as much has arrived as the application asked for.
    #[inline]
    pub(super) fn has_enough_to_read(&self) -> bool {
        let readable = self.readable();
        readable > 0 && (self.receive_low <= 1 || self.reaches(self.receive_low, readable))
    }

    /// Returns whether as much has arrived as the waiting reader asked for.
    #[inline]
    pub(super) fn has_enough_for_the_reader(&self) -> bool {
        let readable = self.readable();
        let least = || self.receive_low.min(self.reader_wants);
        readable > 0 && (self.receive_low <= 1 || self.reaches(least(), readable))
    }

    fn reaches(&self, least: u64, readable: u64) -> bool {
        let receiver = self.connection.receiver();
        // The peer may send nothing more, or less than one segment.
        let full = receiver.window() < u32::from(receiver.mss());
        full || readable >= least.min((receiver.capacity() / 2).max(1))
            || self.stops_at_mark(readable)
    }

    /// Returns whether a read of at most `most` octets need not wait for more of them.
    pub(super) fn may_read_now(&self, most: u64) -> bool {
        self.has_ended() || self.reaches(self.receive_low.min(most), self.readable())
    }

    /// Returns whether nothing more is to be waited for: the stream or the connection has ended, or
    /// this side no longer reads.
    pub(super) fn has_ended(&self) -> bool {
        self.connection.receiver().fin_received()
            || self.reading_closed
            || self.fate.is_some()
            || self.connection.state() == State::Closed
    }
}
