//! What the stack keeps of one connection besides the engine's part.

use std::io;
use std::task::Waker;

use tinygram_engine::{Connection, Instant, Offset, Segment, Span};
use tinygram_wire::encode::Path;
use tinygram_wire::packet::{Header, Near};
use tinygram_wire::sequence::{Numbering, Sequence};

use super::Pair;
use super::chronicle::Chronicle;
use super::ring::Ring;

/// A connection with its octets.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(super) connection: Connection,
    /// From here to the peer.
    pub(super) path: Path,
    pub(super) ours: Sequence,
    /// Means nothing before the peer's SYN.
    pub(super) theirs: Sequence,
    /// What was written and is not acknowledged.
    pub(super) send: Ring,
    /// What arrived and is not read.
    pub(super) receive: Ring,
    /// The receive buffer's first size in octets. An octet farther beyond the last one read than both this and
    /// the present size has no place.
    pub(super) receive_limit: u64,
    pub(super) owner: Owner,
    /// How the connection ended, if not by both sides' FIN.
    pub(super) fate: Option<Fate>,
    /// The same until the application has been told of it, which is once.
    pub(super) error: Option<Fate>,
    /// What ICMP said last; if the peer stays silent, this is why.
    pub(super) soft_error: Option<Fate>,
    /// The application reads no more (SHUT_RD).
    pub(super) reading_closed: bool,
    /// The handshake was complete.
    pub(super) was_connected: bool,
    /// The earliest alarm that is set for this socket.
    pub(super) armed: Instant,
    pub(super) reader: Option<Waker>,
    pub(super) writer: Option<Waker>,
    /// Something was written since a task last waited here.
    pub(super) wrote: bool,
    /// It stands among those whose held runts the driver is to look at.
    pub(super) watched: bool,
    /// Every write is followed by another one, until the application says otherwise.
    pub(super) more: bool,
    pub(super) chronicle: Chronicle,
    /// Segments that stand in the queue to be encoded.
    pub(super) queued: u32,
    /// Dropping the stream resets the connection.
    pub(super) abort_on_drop: bool,
}

/// Whom a socket belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// A stream of the application's.
    Application,
    /// A listener that waits for the handshake's last ACK. Serial numbers tell the oldest.
    HalfOpen { listener: usize, serial: u64 },
    /// A listener whose application has not accepted it yet.
    Ready { listener: usize },
    /// Nobody: closed by the application, it goes when its work is done.
    Nobody,
}

/// How a connection ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The peer answered our SYN with a RST.
    Refused,
    /// The peer sent a RST.
    Reset,
    /// The peer did not answer any more.
    TimedOut,
    /// A router or the peer's host said that there is no way to it.
    HostUnreachable,
    /// A router said that there is no way to the peer's network.
    NetworkUnreachable,
    /// The peer's host does not speak TCP.
    NoProtocol,
    /// We sent the RST.
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
        receive_limit: u64,
        path: Path,
        ours: Sequence,
        owner: Owner,
    ) -> Self {
        Self {
            receive_limit,
            connection,
            path,
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
            reader: None,
            writer: None,
            wrote: false,
            watched: false,
            more: false,
            chronicle: Chronicle::default(),
            queued: 0,
            abort_on_drop: false,
        }
    }

    /// Ends the connection before its time, unless it has ended already.
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

    /// For what leaves.
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

    /// Returns the part of `span` for which the receive buffer has a place.
    #[inline]
    pub(super) fn within_buffer(&self, span: Span) -> Span {
        let receiver = self.connection.receiver();
        let read = receiver.read_up_to();
        let limit = self.receive_limit.max(receiver.capacity());
        Span::new(span.start.max(read), span.end.min(read + limit))
    }

    /// Returns how far the receive buffer holds anything.
    #[inline]
    pub(super) fn received_up_to(&self) -> Offset {
        let receiver = self.connection.receiver();
        let last = receiver.out_of_order().last();
        last.map_or(receiver.nxt(), |last| last.end)
    }

    /// Puts those octets of `payload`, which begins at `start`, that `span` names into the receive
    /// buffer, which holds nothing beyond `held`. The span must be [within the
    /// buffer](Self::within_buffer).
    #[inline]
    pub(super) fn keep(&mut self, span: Span, start: Offset, payload: &[u8], held: Offset) {
        if span.is_empty() {
            return;
        }
        let read = self.connection.receiver().read_up_to();
        self.receive
            .reserve(Span::new(read, span.end.max(held)), held);
        let skipped = (span.start - start) as usize;
        let octets = &payload[skipped..skipped + span.len() as usize];
        self.receive.put(span.start, octets);
    }

    /// Returns how many octets of memory its buffers take.
    pub(super) fn allocated(&self) -> usize {
        self.send.allocated() + self.receive.allocated()
    }

    /// Wakes whoever waits to read.
    pub(super) fn wake_reader(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.reader.take());
    }

    /// Wakes whoever waits to write.
    pub(super) fn wake_writer(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.writer.take());
    }
}

/// Remembers who is to be woken.
pub(super) fn remember(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(same) if same.will_wake(waker) => {}
        place => *place = Some(waker.clone()),
    }
}
