//! What a live source says, as it happens. Times are nanoseconds since the epoch.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::site::CallSite;

/// One thing seen.
#[derive(Clone, Debug)]
pub enum Event {
    /// A segment left that had been held.
    Hold(Hold),
    /// Where in the program the write was made that began a hold; said while the hold lasts.
    Site(Site),
    /// What its connection saw next: whether anybody had waited for it.
    After(Aftermath),
    /// A sender's account of a second or more.
    Tally(Tally),
    /// Data came right behind an acknowledgment of this host's that had been late.
    LateAck(LateAck),
}

/// A connection, seen from the end that is spoken of.
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
    /// Smoothed round trip in nanoseconds; delayed acknowledgments are in it.
    pub srtt_ns: i64,
    /// Least round trip of the last minutes: what the path takes.
    pub min_rtt_ns: Option<i64>,
}

/// Who called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub thread: u32,
    /// The user.
    pub uid: u32,
    /// The control group, by its inode in the version 2 hierarchy.
    pub cgroup: u64,
    /// The thread's name.
    pub comm: String,
}

/// Octets that waited although nothing but a rule about short segments, or a congestion window of one
/// segment, kept them.
#[derive(Clone, Debug)]
pub struct Hold {
    /// Where.
    pub connection: Connection,
    /// Who wrote them.
    pub writer: Writer,
    /// Number of the hold within its connection.
    pub serial: u64,
    /// When the oldest of them was written.
    pub start_ns: i64,
    /// When they left.
    pub end_ns: i64,
    /// Octets in the segment that left at last.
    pub held: u32,
    /// Octets on the way when it was written.
    pub behind: u32,
    /// Segments on the way then.
    pub packets: u32,
    /// Writes that the hold delayed.
    pub writes: u32,
    /// What kept them.
    pub reason: Reason,
    /// What let them go.
    pub release: Release,
    /// `TCP_NODELAY` was set.
    pub nodelay: bool,
    /// The thread that wrote has slept while the hold lasted; known of a process tree alone.
    pub slept: bool,
}

/// Why octets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nagle's algorithm, with Minshall's rule as Linux has it: a short segment is on the way.
    Nagle,
    /// `TCP_CORK`.
    Cork,
    /// `MSG_MORE`.
    MsgMore,
    /// Autocorking: an earlier segment still stands in this host's own queue.
    Autocork,
    /// The congestion window, where one segment fills it.
    CongestionWindow,
    /// A buffer, the sender's or the receiver's, that holds no two segments.
    Buffer,
}

/// What ended a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// An acknowledgment.
    Ack,
    /// The program closed the connection, or its half.
    Close,
    /// The program set `TCP_NODELAY`, or took `TCP_CORK` away.
    Option,
    /// A further write.
    Write,
    /// The kernel's tail loss probe.
    LossProbe,
    /// The kernel's retransmission or persist timer.
    Timer,
    /// Nothing: the connection ended before.
    Never,
}

/// See [`Event::Site`].
#[derive(Clone, Debug)]
pub struct Site {
    /// Which connection.
    pub cookie: u64,
    /// Which of its holds.
    pub serial: u64,
    /// Where.
    pub call: Arc<CallSite>,
}

/// See [`Event::After`].
#[derive(Clone, Copy, Debug)]
pub struct Aftermath {
    /// Which connection.
    pub cookie: u64,
    /// Which of its holds.
    pub serial: u64,
    /// What came.
    pub after: After,
}

/// What a connection saw after a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The program read what the peer sent after the hold: the peer had waited, and the program too.
    Answer,
    /// The program wrote on without reading anything new.
    Write,
    /// The peer closed.
    PeersClose,
    /// The program closed, or the connection broke.
    Close,
}

/// What one end of a connection sent over a while.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Where.
    pub connection: Connection,
    /// Who wrote last.
    pub writer: Writer,
    /// From when.
    pub start_ns: i64,
    /// Until when.
    pub end_ns: i64,
    /// Payload sent, in octets.
    pub bytes: u64,
    /// Data segments sent.
    pub segments: u32,
    /// Writes that ended.
    pub writes: u32,
    /// Writes less than 10 ms behind another, with no read in between.
    pub close: u32,
    /// Short writes that left at once only because what was sent before had been acknowledged
    /// already; said of a process tree alone.
    pub slower: u32,
    /// Times at which the program read after it had written.
    pub turns: u32,
    /// Holds too short to be told one by one.
    pub short_holds: u32,
    /// `TCP_NODELAY` is set.
    pub nodelay: bool,
}

/// See [`Event::LateAck`].
#[derive(Clone, Debug)]
pub struct LateAck {
    /// Where; local is the end that acknowledged late.
    pub connection: Connection,
    /// Who read.
    pub reader: Writer,
    /// When the acknowledgment left.
    pub ack_ns: i64,
    /// When the data that came after it was read.
    pub read_ns: i64,
    /// How long the acknowledgment had waited since the read before.
    pub late_ns: i64,
    /// Octets read.
    pub length: u32,
    /// Octets read before, since the program last wrote.
    pub before: u32,
    /// The program answered what it read.
    pub answered: bool,
}
