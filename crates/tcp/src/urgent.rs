//! Urgent data (RFC 9293, section 3.8.5; RFC 6093). The urgent octet is the last one before the
//! place to which the pointer points, as everybody but RFC 961 has it (RFC 6093, section 3.1).
//! Reads stop before it, so that the application can see where it is. It is taken out of the stream
//! or left there: see `StackRules::urgent_out_of_line`.

use std::io::{self, IoSlice};
use std::task::{Context, Poll};

use tinygram_engine::sender::send_policy::BlockedOn;
use tinygram_engine::{Flags, Instant, Offset, Segment, Span, State};

use super::Core;
use super::keys::ConnectionKey;
use super::socket::{Socket, Urgent, remember};

impl Core {
    /// Sets whether the urgent octet stays in the stream (SO_OOBINLINE). The profile decides what
    /// holds at first.
    pub fn set_urgent_inline(&mut self, key: ConnectionKey, inline: bool) {
        let key = self.place(key);
        self.sockets[key].urgent_inline = inline;
    }

    /// Reads the urgent octet (MSG_OOB); returns `None` if it has not arrived. `keep` leaves it for
    /// another call (MSG_PEEK). A task that waits to read is woken when the urgent pointer and when
    /// the octet comes.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if the peer has announced no urgent data, if it was read, or
    /// if it is read in line. [`io::ErrorKind::UnexpectedEof`] if it has not arrived and will not,
    /// because the stream has ended, the connection has, or this side no longer reads (Linux
    /// returns 0).
    pub fn read_urgent(&mut self, key: ConnectionKey, keep: bool) -> io::Result<Option<u8>> {
        let key = self.place(key);
        let socket = &mut self.sockets[key];
        let Some(urgent) = socket.urgent.filter(|urgent| !urgent.taken) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if socket.urgent_inline {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if !socket.has(urgent.at) {
            return match socket.has_ended() {
                true => Err(io::ErrorKind::UnexpectedEof.into()),
                false => Ok(None),
            };
        }
        let mut octets = socket.receive.slices(Span::new(urgent.at, urgent.at + 1));
        let octet = octets.next().expect("an octet that has arrived")[0];
        socket.urgent = Some(Urgent {
            taken: !keep,
            ..urgent
        });
        Ok(Some(octet))
    }

    /// Reads the urgent octet as [`Core::read_urgent`] does, but waits until one is announced and has
    /// arrived. Whoever waits so counts as the task that waits to read.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if urgent data is read in line;
    /// [`io::ErrorKind::UnexpectedEof`] if none will come any more.
    pub fn poll_read_urgent(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        keep: bool,
        context: &Context<'_>,
    ) -> Poll<io::Result<u8>> {
        let read = self.read_urgent(key, keep);
        let key = self.place(key);
        match read {
            Ok(Some(octet)) => return Poll::Ready(Ok(octet)),
            Err(error) if self.sockets[key].urgent_inline => return Poll::Ready(Err(error)),
            _ => {}
        }
        let socket = &mut self.sockets[key];
        if socket.has_ended() {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        remember(&mut socket.reader, context.waker());
        self.blocks(now, key, BlockedOn::Read);
        Poll::Pending
    }

    /// Returns whether everything before the urgent octet was read, and nothing beyond it
    /// (SIOCATMARK, `sockatmark`).
    #[must_use]
    pub fn is_at_mark(&self, key: ConnectionKey) -> bool {
        let key = self.place(key);
        let socket = &self.sockets[key];
        let read = socket.connection.receiver().read_up_to();
        socket.urgent.is_some_and(|urgent| urgent.at == read)
    }

    /// Writes as [`Core::poll_write`] does, and marks the last octet that it accepts as urgent
    /// (MSG_OOB). What the windows allow leaves at once, whatever the send policy; what leaves later
    /// follows the policy.
    ///
    /// # Errors
    ///
    /// As [`Core::poll_write`].
    pub fn poll_write_urgent(
        &mut self,
        now: Instant,
        key: ConnectionKey,
        octets: &[u8],
        context: &Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let key = self.place(key);
        let wrote = self.poll_append(now, key, &[IoSlice::new(octets)], false, context);
        if let Poll::Ready(Ok(1..)) = wrote {
            let socket = &mut self.sockets[key];
            let connection = &mut socket.connection;
            socket.urgent_end = Some(connection.sender().vars().written);
            if !connection.sender().vars().nodelay {
                connection.set_nodelay(now, true, &mut self.outbox);
                connection.set_nodelay(now, false, &mut self.outbox);
            }
            self.settle(key);
        }
        wrote
    }

    /// Handles the announcement that the octet `at` is urgent, with the segment before which
    /// everything up to `nxt` had arrived. The caller settles.
    pub(super) fn on_urgent(&mut self, now: Instant, key: usize, at: Offset, nxt: Offset) {
        let socket = &mut self.sockets[key];
        let receiver = socket.connection.receiver();
        // An urgent octet that the application has come to, but not read, is lost with the next
        // one's arrival; one further ahead becomes part of the stream (Linux: `tcp_check_urg`).
        let at_mark = socket
            .urgent
            .is_some_and(|old| old.at == receiver.read_up_to() && old.at < nxt);
        if at_mark && !socket.urgent_inline {
            socket.connection.read(now, 1, &mut self.outbox);
        }
        socket.urgent = Some(Urgent { at, taken: false });
        socket.wake_reader(&mut self.wakers);
    }

    /// Drops an urgent octet at which the next read would begin, if something follows it.
    pub(super) fn step_over_urgent(&mut self, now: Instant, key: usize) {
        let socket = &mut self.sockets[key];
        let (from, to) = (
            socket.reads_from(),
            socket.connection.receiver().read_up_to(),
        );
        if from > to {
            socket.connection.read(now, 1, &mut self.outbox);
            socket.forget_past_urgent();
            // Whether or not a read follows: what it sends is this connection's.
            self.settle(key);
        }
    }
}

impl Socket {
    /// Returns the urgent octet that the segment announces, if that is news: the segment will be
    /// accepted, the octet is new, and it is later than an earlier urgent one. Call it before the
    /// segment is handled.
    pub(super) fn announces(
        &self,
        now: Instant,
        segment: &Segment,
        pointer: u16,
    ) -> Option<Offset> {
        let state = self.connection.state();
        let receives = state.receives() || state == State::SynReceived;
        // A pointer of 0 means the segment's first octet, as on Linux (`tcp_check_urg`).
        let at = segment.data().start + u64::from(pointer.saturating_sub(1));
        let new = at >= self.connection.receiver().nxt();
        let later = self.urgent.is_none_or(|known| at > known.at);
        (receives && new && later && self.connection.accepts(now, segment)).then_some(at)
    }

    /// Returns whether everything up to the mark has arrived, so that no wait makes the next read
    /// longer.
    pub(super) fn stops_at_mark(&self, readable: u64) -> bool {
        let start = self.reads_from();
        self.urgent
            .is_some_and(|urgent| urgent.at > start && urgent.at.since(start) == readable)
    }

    /// Returns how many octets the next read can return: none beyond an urgent one.
    #[inline]
    pub(super) fn readable(&self) -> u64 {
        match &self.urgent {
            None => self.connection.receiver().readable(),
            Some(urgent) => self.readable_before(urgent.at),
        }
    }

    #[cold]
    fn readable_before(&self, mark: Offset) -> u64 {
        let receiver = self.connection.receiver();
        let start = self.reads_from();
        let skipped = start.since(receiver.read_up_to());
        let readable = receiver.readable().saturating_sub(skipped);
        match mark {
            mark if mark > start => readable.min(mark.since(start)),
            // Nothing follows it yet, and it is not part of the stream.
            mark if mark == start && !self.urgent_inline => 0,
            _ => readable,
        }
    }

    /// Returns where the next read begins: behind an urgent octet that is not part of the stream.
    /// It is left there until something follows it, so that it can be read apart.
    pub(super) fn reads_from(&self) -> Offset {
        let receiver = self.connection.receiver();
        let read = receiver.read_up_to();
        let skips = !self.urgent_inline
            && self.urgent.is_some_and(|urgent| urgent.at == read)
            && (receiver.readable() > 1 || receiver.fin_received() && receiver.readable() == 1);
        read + u64::from(skips)
    }

    /// Returns whether urgent data can be read apart.
    #[inline]
    pub(super) fn has_urgent(&self) -> bool {
        self.urgent
            .is_some_and(|urgent| !urgent.taken && self.has(urgent.at))
    }

    /// Forgets urgent data that was read past.
    pub(super) fn forget_past_urgent(&mut self) {
        let read = self.connection.receiver().read_up_to();
        self.urgent = self.urgent.filter(|urgent| urgent.at >= read);
    }

    /// Returns whether an octet that was not read has arrived, in order or not.
    fn has(&self, at: Offset) -> bool {
        let receiver = self.connection.receiver();
        let in_order =
            receiver.read_up_to() <= at && at.since(receiver.read_up_to()) < receiver.readable();
        let mut waiting = receiver.out_of_order().iter();
        in_order || waiting.any(|span| span.start <= at && at < span.end)
    }

    /// Returns the urgent pointer of a segment that leaves, if it has one.
    #[inline]
    pub(super) fn urgent_pointer(&self, segment: &Segment) -> Option<u16> {
        let end = self.urgent_end?;
        let max = self.connection.sender().vars().max;
        let syn = segment.flags.has(Flags::SYN);
        (!syn).then(|| pointer(segment.seq, end, max)).flatten()
    }

    /// Forgets urgent data that the peer has acknowledged.
    pub(super) fn forget_sent_urgent(&mut self) {
        let una = self.connection.sender().vars().una;
        let gone = self.connection.state() == State::Closed;
        self.urgent_end = self.urgent_end.filter(|end| *end > una && !gone);
    }
}

/// Returns the urgent pointer of a segment at `seq` if urgent data ends at `end` and everything
/// before `max` was sent. An end that no pointer reaches is announced as far ahead as possible, but
/// not as a place that the peer may have already (Linux: `tcp_transmit_skb`).
fn pointer(seq: Offset, end: Offset, max: Offset) -> Option<u16> {
    if seq >= end {
        return None;
    }
    match u16::try_from(end.since(seq)) {
        Ok(near) => Some(near),
        Err(_) => (seq + u64::from(u16::MAX) > max).then_some(u16::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_reaches_65535_octets() {
        let at = |seq, end, max| pointer(Offset::new(seq), Offset::new(end), Offset::new(max));
        assert_eq!(at(1, 11, 1), Some(10));
        assert_eq!(at(11, 11, 11), None, "behind it");
        assert_eq!(at(1, 65_536, 80_000), Some(65_535));
        assert_eq!(at(1, 65_537, 1), Some(65_535), "at least so far");
        assert_eq!(at(1, 65_537, 65_535), Some(65_535));
        assert_eq!(at(1, 65_537, 65_536), None, "that was sent before");
    }
}
