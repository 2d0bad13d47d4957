//! What the stack stores for a connection besides the engine's state.

use std::io;
use std::task::Waker;

use tinygram_engine::{Connection, Duration, Instant, Offset, Segment, Span, State};
use tinygram_wire::encode::Path;
use tinygram_wire::packet::{Header, Near};
use tinygram_wire::sequence::{Numbering, Sequence};

use super::Pair;
use super::chronicle::Chronicle;
use super::ring::{Pieces, Ring};

/// Urgent data of the peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Urgent {
    /// The urgent octet.
    pub(super) at: Offset,
    /// Whether the application has read it apart.
    pub(super) taken: bool,
}

/// A connection with its octets.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(super) connection: Connection,
    /// A number that no other connection of this stack has.
    pub(super) generation: u64,
    /// The path from this end to the peer.
    pub(super) path: Path,
    /// The time to live of the peer's last segment before the handshake was complete; 0 before the
    /// first.
    pub(super) peer_ttl: u8,
    pub(super) ours: Sequence,
    /// The peer's numbering; means nothing before its SYN.
    pub(super) theirs: Sequence,
    /// Octets that were written and are not acknowledged.
    pub(super) send: Ring,
    /// Octets that arrived and are not read.
    pub(super) receive: Ring,
    pub(super) owner: Owner,
    /// How the connection ended, if not by both sides' FINs.
    pub(super) fate: Option<Fate>,
    /// The same, until the application has been told once.
    pub(super) error: Option<Fate>,
    /// The last soft ICMP error, which is reported as the cause if the peer stays silent.
    pub(super) soft_error: Option<Fate>,
    /// Whether the application has closed the reading side (SHUT_RD).
    pub(super) reading_closed: bool,
    /// Whether the handshake was completed.
    pub(super) was_connected: bool,
    /// The earliest alarm that is set for this socket.
    pub(super) armed: Instant,
    /// The end of a close that lingers, or of a deferred acceptance.
    pub(super) alarm: Instant,
    /// How long a close waits (SO_LINGER).
    pub(super) linger: Option<Duration>,
    /// The least octets for which a reader is woken (SO_RCVLOWAT).
    pub(super) receive_low: u64,
    /// The peer's urgent data that was not read past.
    pub(super) urgent: Option<Urgent>,
    /// Whether it is read in line (SO_OOBINLINE).
    pub(super) urgent_inline: bool,
    /// The end of what was written as urgent, until it is acknowledged.
    pub(super) urgent_end: Option<Offset>,
    pub(super) reader: Option<Waker>,
    /// The most octets that the waiting reader takes.
    pub(super) reader_wants: u64,
    pub(super) writer: Option<Waker>,
    /// Whether something was written since a task last waited here.
    pub(super) wrote: bool,
    /// Whether the driver is to check its held runt.
    pub(super) watched: bool,
    /// Whether every write counts as followed by another one (MSG_MORE).
    pub(super) more: bool,
    pub(super) chronicle: Chronicle,
    /// Segments in the queue that are not encoded yet.
    pub(super) queued: u32,
    /// Whether dropping the stream resets the connection.
    pub(super) abort_on_drop: bool,
}

/// The owner of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A stream of the application's.
    Application,
    /// A listener that waits for the handshake's last ACK. Serial numbers show which is the oldest.
    HalfOpen { listener: usize, serial: u64 },
    /// A listener whose application has not accepted it yet.
    Ready { listener: usize },
    /// Nobody: the application closed it, and it is removed when it has finished.
    Nobody,
}

/// The reason why a connection ended prematurely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The peer answered the SYN with a RST.
    Refused,
    /// The peer sent a RST.
    Reset,
    /// The peer stopped answering.
    TimedOut,
    /// A router or the peer's host reported that the host cannot be reached.
    HostUnreachable,
    /// A router reported that the peer's network cannot be reached.
    NetworkUnreachable,
    /// The peer's host does not speak TCP.
    NoProtocol,
    /// This side sent the RST.
    Aborted,
}

impl From<Fate> for io::Error {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Refused => io::ErrorKind::ConnectionRefused,
            Fate::Reset => io::ErrorKind::ConnectionReset,
            Fate::TimedOut => io::ErrorKind::TimedOut,
            Fate::HostUnreachable => io::ErrorKind::HostUnreachable,
            Fate::NetworkUnreachable => io::ErrorKind::NetworkUnreachable,
            Fate::NoProtocol => io::ErrorKind::Unsupported,
            Fate::Aborted => io::ErrorKind::ConnectionAborted,
        }
        .into()
    }
}

impl Socket {
    pub(super) fn new(
        connection: Connection,
        generation: u64,
        path: Path,
        ours: Sequence,
        owner: Owner,
    ) -> Self {
        Self {
            connection,
            generation,
            path,
            peer_ttl: 0,
            ours,
            theirs: Sequence::new(0),
            send: Ring::default(),
            receive: Ring::default(),
            owner,
            fate: None,
            error: None,
            soft_error: None,
            reading_closed: false,
            was_connected: false,
            armed: Instant::FAR_FUTURE,
            alarm: Instant::FAR_FUTURE,
            linger: None,
            receive_low: 1,
            urgent: None,
            urgent_inline: true,
            urgent_end: None,
            reader: None,
            reader_wants: 0,
            writer: None,
            wrote: false,
            watched: false,
            more: false,
            chronicle: Chronicle::default(),
            queued: 0,
            abort_on_drop: false,
        }
    }

    /// Ends the connection prematurely, unless it has ended already.
    pub(super) fn ends(&mut self, fate: Fate) {
        if self.fate.is_none() {
            self.fate = Some(fate);
            self.error = Some(fate);
        }
    }

    pub(super) fn pair(&self) -> Pair {
        Pair {
            local: self.path.source().into(),
            remote: self.path.destination().into(),
        }
    }

    /// Returns the numbering of segments that leave.
    #[inline]
    pub(super) fn outgoing(&self) -> Numbering {
        Numbering {
            data: self.ours,
            acks: self.theirs,
            window_shift: self.connection.receive_window_shift(),
        }
    }

    /// Returns the engine's segment for a header that arrived.
    #[inline]
    pub(super) fn incoming(&self, header: &Header, len: usize) -> Segment {
        let numbering = Numbering {
            data: self.theirs,
            acks: self.ours,
            window_shift: self.connection.send_window_shift(),
        };
        let near = Near {
            seq: self.connection.receiver().nxt(),
            ack: self.connection.sender().vars().una,
        };
        numbering.segment(header, len, near)
    }

    /// Returns the end of the octets that the receive buffer holds.
    #[inline]
    pub(super) fn received_up_to(&self) -> Offset {
        let receiver = self.connection.receiver();
        let last = receiver.out_of_order().last();
        last.map_or(receiver.nxt(), |last| last.end)
    }

    /// Stores the octets of `span` from `payload`, which begins at `start`, in the receive buffer.
    #[inline]
    pub(super) fn keep(&mut self, span: Span, start: Offset, payload: &[u8], pieces: &mut Pieces) {
        if span.is_empty() {
            return;
        }
        let skipped = (span.start - start) as usize;
        let octets = &payload[skipped..skipped + span.len() as usize];
        self.receive.put(span.start, octets, pieces);
    }

    /// Frees what was read.
    #[inline]
    pub(super) fn forget_read(&mut self, pieces: &mut Pieces) {
        let read = self.connection.receiver().read_up_to();
        let end = self.received_up_to();
        self.receive.discard(read, end, pieces);
    }

    /// Frees what the peer has acknowledged.
    #[inline]
    pub(super) fn forget_acknowledged(&mut self, pieces: &mut Pieces) {
        let vars = self.connection.sender().vars();
        self.send.discard(vars.una, vars.written, pieces);
    }

    /// Frees what was written, if the connection is gone and no packet waits for its octets.
    pub(super) fn forget_what_cannot_leave(&mut self, pieces: &mut Pieces) {
        if self.connection.state() == State::Closed && self.queued == 0 {
            self.send.release(pieces);
        }
    }

    /// Returns how many octets of memory its buffers take.
    pub(super) fn allocated(&self) -> usize {
        self.send.allocated() + self.receive.allocated()
    }

    /// Wakes the task that waits to read.
    pub(super) fn wake_reader(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.reader.take());
    }

    /// Wakes the task that waits to write.
    pub(super) fn wake_writer(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.writer.take());
    }
}

/// Remembers the task to wake.
pub(super) fn remember(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(same) if same.will_wake(waker) => {}
        place => *place = Some(waker.clone()),
    }
}
