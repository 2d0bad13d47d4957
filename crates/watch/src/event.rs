//! The events that a live source reports as they happen. Times are nanoseconds since the epoch.

use std::net::SocketAddr;
use std::sync::Arc;

use tinygram_stalls::Roles;

use crate::site::CallSite;

/// One event.
#[derive(Clone, Debug)]
pub enum Event {
    /// A held segment has left.
    Hold(Hold),
    /// The place in the program of the write that began a hold; reported while the hold lasts.
    Site(Site),
    /// What happened next on the hold's connection, which shows whether anybody waited for it.
    After(Aftermath),
    /// A sender's counts over a second or more.
    Tally(SentTally),
    /// Data came directly after a late acknowledgment of this host.
    LateAck(LateAck),
    /// A receiver on this host had its timer of delayed acknowledgments expire. Reported only when a
    /// process tree is watched, of all processes.
    DelayedAck(DelayedAck),
}

/// A connection, seen from the end that the event is about.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The kernel's own number for the socket, never used again.
    pub cookie: u64,
    /// The network namespace, by its inode.
    pub netns: u32,
    /// This end.
    pub local: SocketAddr,
    /// The peer.
    pub remote: SocketAddr,
    /// Largest segment that may be sent, in octets.
    pub mss: u32,
    /// Smoothed round trip in nanoseconds; it includes delayed acknowledgments.
    pub srtt_ns: i64,
    /// Least round trip of the last minutes in nanoseconds: the time that the path takes.
    pub min_rtt_ns: Option<i64>,
    /// Whether this end accepted it; `None` in recordings that do not say. A server that listens with a backlog of 0
    /// seems not to have accepted.
    pub accepted: Option<bool>,
}

impl Connection {
    /// Returns what the connection itself tells of the roles of its ends.
    #[must_use]
    pub fn roles(&self) -> Roles {
        Roles {
            accepted: self.accepted,
            port: self.local.port(),
            peer_port: self.remote.port(),
            ..Roles::default()
        }
    }
}

/// The thread that made a system call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    /// The process; 0 if it is unknown.
    pub pid: u32,
    /// The thread; 0 if it is unknown.
    pub thread: u32,
    /// The user; [`NO_USER`](tinygram_host::process::NO_USER) if it is unknown.
    pub uid: u32,
    /// The control group, by its inode in the version 2 hierarchy.
    pub cgroup: u64,
    /// The thread's name.
    pub comm: String,
}

/// A hold: octets that waited only because of a rule about short segments, or because of a
/// congestion window of one segment.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The connection.
    pub connection: Connection,
    /// The thread that wrote them.
    pub writer: Writer,
    /// Number of the hold within its connection.
    pub serial: u64,
    /// When the oldest of them was written.
    pub start_ns: i64,
    /// When they left.
    pub end_ns: i64,
    /// Octets in the segment that finally left.
    pub held: u32,
    /// Unacknowledged octets when it was written.
    pub behind: u32,
    /// Unacknowledged segments at that time.
    pub packets: u32,
    /// Writes that the hold delayed.
    pub writes: u32,
    /// The reason why they waited.
    pub reason: Reason,
    /// What released them.
    pub release: Release,
    /// Whether `TCP_NODELAY` was set.
    pub nodelay: bool,
    /// Whether the thread that wrote slept while the hold lasted. This is known only when a process
    /// tree is watched.
    pub slept: bool,
}

/// Why octets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nagle's algorithm, with Minshall's rule as in Linux: a short segment is unacknowledged.
    Nagle,
    /// `TCP_CORK`.
    Cork,
    /// `MSG_MORE`.
    MsgMore,
    /// Autocorking: an earlier segment is still in this host's own queue.
    Autocork,
    /// The congestion window, if one segment fills it.
    CongestionWindow,
    /// A buffer of the sender or the receiver that is smaller than two segments.
    Buffer,
}

/// What ended a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// An acknowledgment.
    Ack,
    /// The program closed the connection, or its half of it.
    Close,
    /// The program set `TCP_NODELAY`, or cleared `TCP_CORK`.
    Option,
    /// A further write.
    Write,
    /// The kernel's tail loss probe.
    LossProbe,
    /// The kernel's retransmission or persist timer.
    Timer,
    /// Nothing: the connection ended first.
    Never,
}

/// See [`Event::Site`].
#[derive(Clone, Debug)]
pub struct Site {
    /// The cookie of the connection.
    pub cookie: u64,
    /// The number of the hold within its connection.
    pub serial: u64,
    /// The place of the write in the program.
    pub call: Arc<CallSite>,
}

/// See [`Event::After`].
#[derive(Clone, Copy, Debug)]
pub struct Aftermath {
    /// The cookie of the connection.
    pub cookie: u64,
    /// The number of the hold within its connection.
    pub serial: u64,
    /// What happened.
    pub after: After,
}

/// What happened on a connection after a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The program read data that the peer sent after the hold. So the peer had waited, and the
    /// program, too.
    Answer,
    /// The program wrote again without reading anything new.
    Write,
    /// The peer closed.
    PeersClose,
    /// The program closed, or the connection broke.
    Close,
}

/// What one end of a connection sent during an interval.
#[derive(Clone, Debug)]
pub struct SentTally {
    /// The connection.
    pub connection: Connection,
    /// The thread that wrote last.
    pub writer: Writer,
    /// The beginning of the interval.
    pub start_ns: i64,
    /// The end of the interval.
    pub end_ns: i64,
    /// Payload sent, in octets.
    pub bytes: u64,
    /// Data segments sent.
    pub segments: u32,
    /// Writes that ended.
    pub writes: u32,
    /// Writes that came less than 10 ms after another write, without a read in between.
    pub close: u32,
    /// Short writes that left at once only because the data before them had already been
    /// acknowledged. They are counted only when a process tree is watched.
    pub slower: u32,
    /// Data segments that the connection had sent before it was looked at: a socket that keeps up with its
    /// writes is looked at in samples, until it shows something.
    pub unseen: u32,
    /// How often the program read after it had written.
    pub turns: u32,
    /// Holds that are too short to be reported one by one.
    pub short_holds: u32,
    /// Whether `TCP_NODELAY` is set.
    pub nodelay: bool,
}

/// See [`Event::LateAck`].
#[derive(Clone, Debug)]
pub struct LateAck {
    /// The connection; its local end is the one that acknowledged late.
    pub connection: Connection,
    /// The thread that read.
    pub reader: Writer,
    /// When the acknowledgment left.
    pub ack_ns: i64,
    /// When the program read the data that came after it.
    pub read_ns: i64,
    /// How long the acknowledgment had waited since the read before.
    pub late_ns: i64,
    /// Octets read.
    pub length: u32,
    /// Octets read before, after the program's last write.
    pub before: u32,
    /// Whether the program answered what it read.
    pub answered: bool,
    /// The longest that this receiver's timer delays an acknowledgment: the socket's own bound or the route's, whichever is
    /// less, in nanoseconds; `None` if the kernel does not say, as in older recordings.
    pub bound_ns: Option<i64>,
}

/// See [`Event::DelayedAck`].
#[derive(Clone, Copy, Debug)]
pub struct DelayedAck {
    /// The connection; its local end is the receiver. The kernel says only the addresses.
    pub connection: Connection,
    /// When the timer expired.
    pub at_ns: i64,
    /// Octets that the program could have read and had not: its thread was late, and would have acknowledged by
    /// reading. What is less than it waits for (`SO_RCVLOWAT`, `MSG_WAITALL` with `MSG_PEEK`) is not counted.
    pub unread: u32,
}

/// Whether a receiver's timer of delayed acknowledgments ended a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// It did: it expired while the hold lasted, at a receiver that had read everything.
    Expired,
    /// It did not: the receiver is on this host, and no timer of its expired, or its thread was late.
    DidNot,
    /// The receiver is elsewhere, or timers are not seen.
    Unknown,
}
