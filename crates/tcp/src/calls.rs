//! The calls of the application on an open connection: it reads, writes, waits and closes.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use tinygram_engine::sender::send_policy::{BlockedOn, Why};
use tinygram_engine::{Instant, Span, State};

use super::keys::ConnectionKey;
use super::ring::Pieces;
use super::socket::{Fate, Socket, remember};
use super::{Core, MOST_UNOWNED};

impl Core {
    /// Reads by calling `take` with pieces of at most `most` octets in all, in order. Returns 0 when
    /// the peer has closed. Waits for the octets that [`Core::set_receive_low_water`] demands, or
    /// for `most` if that is less.
    ///
    /// # Errors
    ///
    /// If the connection ended prematurely.
    #[inline]
    pub fn poll_read(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        most: usize,
        context: &Context<'_>,
        take: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let key = self.place(key);
        let socket = &self.sockets[key];
        let waits = socket.receive_low > 1 && !socket.may_read_now(most as u64);
        if !waits && let Some(done) = self.read_in(now, key, most, take) {
            return Poll::Ready(done);
        }
        let socket = &mut self.sockets[key];
        remember(&mut socket.reader, context.waker());
        socket.reader_wants = most as u64;
        self.blocks(now, key, BlockedOn::Read);
        Poll::Pending
    }

    /// Reads as [`Core::poll_read`] does, but never waits: returns `None` if there is nothing to
    /// read. The low-water mark does not matter.
    ///
    /// # Errors
    ///
    /// As [`Core::poll_read`].
    #[inline]
    pub fn read_now(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        most: usize,
        take: impl FnMut(&[u8]),
    ) -> Option<io::Result<usize>> {
        let key = self.place(key);
        self.read_in(now, key, most, take)
    }

    /// Reads as [`Core::read_now`] does from the connection in this place.
    #[inline]
    fn read_in(
        &mut self,
        now: Instant,
        key: usize,
        most: usize,
        take: impl FnMut(&[u8]),
    ) -> Option<io::Result<usize>> {
        if most > 0 && self.sockets[key].urgent.is_some() {
            self.step_over_urgent(now, key);
        }
        let socket = &mut self.sockets[key];
        let receiver = socket.connection.receiver();
        let octets = socket.readable().min(most as u64);
        if octets > 0 {
            let start = receiver.read_up_to();
            let span = Span::new(start, start + octets);
            socket.receive.slices(span).for_each(take);
            socket.connection.reader_resumes();
            socket.connection.read(now, octets, &mut self.outbox);
            socket.forget_read(&mut self.memory.pieces);
            if socket.urgent.is_some() {
                socket.forget_past_urgent();
            }
            self.settle(key);
            self.relieve(now);
            return Some(Ok(octets as usize));
        }
        if let Some(error) = socket.error.take() {
            return Some(Err(error.into()));
        }
        let receiver = socket.connection.receiver();
        let ended = socket.fate.is_some()
            || socket.reading_closed
            || receiver.at_end()
            || socket.connection.state() == State::Closed;
        (ended || most == 0).then_some(Ok(0))
    }

    /// Writes as much of the pieces as the send buffer takes; `more` says that another write
    /// follows (MSG_MORE).
    ///
    /// # Errors
    ///
    /// If the connection ended prematurely, or this side has closed it.
    pub fn poll_write(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        pieces: &[io::IoSlice<'_>],
        more: bool,
        context: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let key = self.place(key);
        let more = more || self.sockets[key].more;
        let wrote = self.poll_append(now, key, pieces, more, context);
        if let Poll::Ready(Ok(1..)) = wrote {
            self.settle(key);
        }
        wrote
    }

    /// Appends as much of the pieces as the send buffer takes, and sends what may leave. If anything
    /// was appended, the caller settles.
    #[inline]
    pub(super) fn poll_append(
        &mut self,
        now: Instant,
        key: usize,
        pieces: &[io::IoSlice<'_>],
        more: bool,
        context: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let socket = &mut self.sockets[key];
        if let Some(error) = socket.error.take() {
            return Poll::Ready(Err(error.into()));
        }
        if !socket.may_write() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        let octets = socket.connection.sender().most_of_a_write().min(len as u64);
        let octets = self.room_to_write(now, key, octets);
        let socket = &mut self.sockets[key];
        socket.buffer(pieces, octets, &mut self.memory.pieces);
        socket.connection.writer_resumes();
        let wrote = match octets {
            0 => 0,
            octets => socket.connection.write(now, octets, more, &mut self.outbox),
        };
        if wrote == 0 {
            remember(&mut socket.writer, context.waker());
            self.blocks(now, key, BlockedOn::Write);
            return Poll::Pending;
        }
        socket.wrote = true;
        self.watch(key);
        Poll::Ready(Ok(wrote as usize))
    }

    /// Writes all of `octets`, sleeping for space, as one write: the policy knows that more comes,
    /// as for a kernel's write to a blocking socket. `done` counts what was copied: 0 at the first
    /// call, and further calls continue the write. `more` says that another write follows
    /// (MSG_MORE). Until it is ready or [abandoned](Core::abandon_write), nothing else may be
    /// written.
    ///
    /// # Errors
    ///
    /// As [`Core::poll_write`].
    pub fn poll_write_whole(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        octets: &[u8],
        done: &mut usize,
        more: bool,
        context: &Context<'_>,
    ) -> Poll<io::Result<()>> {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        if *done == octets.len() {
            return Poll::Ready(Ok(()));
        }
        if let Some(error) = socket.error.take() {
            return Poll::Ready(Err(error.into()));
        }
        if !socket.may_write() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        match socket.connection.write_remaining() {
            0 => socket.connection.write_begin(now, octets.len() as u64),
            _ => socket.connection.write_resume(now),
        }
        let more = more || socket.more;
        while let Some(piece) = self.sockets[key].connection.next_piece() {
            let rest = &octets[*done..];
            let piece = &rest[..rest.len().min(piece as usize)];
            let len = piece.len() as u64;
            if self.room_to_write(now, key, len) < len {
                break;
            }
            let socket = &mut self.sockets[key];
            socket.buffer(&[io::IoSlice::new(piece)], len, &mut self.memory.pieces);
            socket.connection.write_step(now, more, &mut self.outbox);
            *done += piece.len();
            socket.wrote = true;
        }
        self.watch(key);
        if *done < octets.len() {
            remember(&mut self.sockets[key].writer, context.waker());
            self.blocks(now, key, BlockedOn::Write);
            return Poll::Pending;
        }
        self.settle(key);
        Poll::Ready(Ok(()))
    }

    /// Abandons the rest of a [whole write](Core::poll_write_whole).
    pub fn abandon_write(&mut self, now: Instant, key: ConnectionKey) {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        socket.connection.write_abandon(now, &mut self.outbox);
        self.settle(key);
    }

    /// Remembers the socket, so that a policy that waits for its writer to block is asked again
    /// when the task has yielded.
    #[inline]
    fn watch(&mut self, key: usize) {
        let socket = &mut self.sockets[key];
        let hold = socket.connection.sender().hold();
        if !socket.watched && hold.is_some_and(|hold| hold.why == Why::WriterRuns) {
            socket.watched = true;
            self.watched.push(key);
        }
    }

    /// Tells the policy that a task is about to wait.
    pub(super) fn blocks(&mut self, now: Instant, key: usize, on: BlockedOn) {
        let socket = &mut self.sockets[key];
        let wrote = std::mem::take(&mut socket.wrote);
        socket
            .connection
            .app_blocks(now, on, wrote, &mut self.outbox);
        self.settle(key);
    }

    /// Sends what the policy holds only because it waits for the writer.
    pub fn flush(&mut self, now: Instant, key: ConnectionKey) {
        let key = self.place(key);
        if self.sockets[key].wrote {
            self.blocks(now, key, BlockedOn::Elsewhere);
        }
    }

    /// Closes this side: nothing more will be written.
    pub fn shutdown(&mut self, now: Instant, key: ConnectionKey) {
        let key = self.place(key);
        self.shut_down_in(now, key);
    }

    /// Closes this side of the connection in this place.
    pub(super) fn shut_down_in(&mut self, now: Instant, key: usize) {
        let socket = &mut self.sockets[key];
        socket.connection.close(now, &mut self.outbox);
        self.settle(key);
    }

    /// Resets the connection.
    pub fn abort(&mut self, key: ConnectionKey) {
        let key = self.place(key);
        self.abort_in(key);
    }

    /// Resets the connection in this place, whoever owns it.
    pub(super) fn abort_in(&mut self, key: usize) {
        self.sockets[key].ends(Fate::Aborted);
        self.reset_connection(key);
        let socket = &mut self.sockets[key];
        socket.wake_reader(&mut self.wakers);
        socket.wake_writer(&mut self.wakers);
    }

    /// Takes back the socket because the application drops its stream. The connection is closed; or
    /// reset if data came that was not read, or if data comes later (RFC 2525, section 2.17).
    pub fn release(&mut self, now: Instant, key: ConnectionKey) {
        let key = self.place(key);
        let crowded = self.unowned >= MOST_UNOWNED;
        self.disown(key);
        let socket = &mut self.sockets[key];
        socket.reader = None;
        socket.writer = None;
        if socket.abort_on_drop || crowded {
            socket.connection.abort(&mut self.outbox);
        } else {
            socket.connection.abandon(now, &mut self.outbox);
        }
        self.settle(key);
        self.relieve(now);
    }

    /// Returns this end's address and port, and the peer's.
    #[must_use]
    pub fn ends(&self, key: ConnectionKey) -> (SocketAddr, SocketAddr) {
        let key = self.place(key);
        let path = &self.sockets[key].path;
        (path.source(), path.destination())
    }
}

impl Socket {
    /// Returns whether the application may write, now or once the handshake is complete.
    pub(super) fn may_write(&self) -> bool {
        let opening = matches!(self.connection.state(), State::SynSent | State::SynReceived);
        (opening || self.connection.state().sends()) && !self.connection.sender().is_finishing()
    }

    /// Copies this many octets of the pieces after what was written.
    #[inline]
    pub(super) fn buffer(&mut self, pieces: &[io::IoSlice<'_>], octets: u64, memory: &mut Pieces) {
        let (mut at, mut left) = (self.connection.sender().vars().written, octets as usize);
        for piece in pieces {
            let some = &piece[..piece.len().min(left)];
            self.send.put(at, some, memory);
            at += some.len() as u64;
            left -= some.len();
        }
    }
}
