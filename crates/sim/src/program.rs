//! Applications as programs of system calls: a program is a function from the outcome of the last
//! call to the next call. Blocking servers, event loops and pairs of threads are all written in
//! this way.

use tinygram_engine::{Duration, Instant};

/// A set of up to 64 sockets by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets(u64);

impl Sockets {
    /// No socket.
    pub const NONE: Self = Self(0);
    /// How many sockets there can be.
    pub const MOST: u32 = u64::BITS;

    /// Returns the set of only this socket.
    #[must_use]
    pub const fn one(socket: u32) -> Self {
        Self(1 << socket)
    }

    /// Returns the set with this socket added.
    #[must_use]
    pub const fn and(self, socket: u32) -> Self {
        Self(self.0 | 1 << socket)
    }

    /// Returns the set without this socket.
    #[must_use]
    pub const fn without(self, socket: u32) -> Self {
        Self(self.0 & !(1 << socket))
    }

    /// Returns whether this socket is in the set.
    #[must_use]
    pub const fn has(self, socket: u32) -> bool {
        self.0 & 1 << socket != 0
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the numbers, lowest first.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let lowest = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (lowest < 64).then_some(lowest)
        })
    }
}

/// A system call, or something else on which a thread spends time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reads up to `max` octets; sleeps until there is something, or the end of the stream.
    Read {
        /// The socket.
        socket: u32,
        /// The most octets to read.
        max: u64,
    },
    /// Writes `len` octets (at least one); sleeps until all of them are in the send buffer.
    Write {
        /// The socket.
        socket: u32,
        /// The number of octets.
        len: u64,
        /// Whether another write follows (MSG_MORE).
        more: bool,
    },
    /// Writes what fits, without sleeping.
    TryWrite {
        /// The socket.
        socket: u32,
        /// The most octets to write.
        len: u64,
    },
    /// Sleeps until one of these sockets is ready, or for `timeout`.
    Poll {
        /// Sockets to wait on until there is something to read, or the end of the stream.
        read: Sockets,
        /// Sockets to wait on until there is space in the send buffer.
        write: Sockets,
        /// The longest wait; `None` waits forever.
        timeout: Option<Duration>,
    },
    /// Computes.
    Compute(Duration),
    /// Sleeps.
    Sleep(Duration),
    /// Opens the connection of this socket, and sleeps until it is open.
    Connect(u32),
    /// Listens on this socket, and sleeps until a connection is open.
    Accept(u32),
    /// Closes the sending side: a FIN follows what is in the buffer.
    Close(u32),
    /// Sets TCP_NODELAY.
    NoDelay(u32, bool),
    /// Sets TCP_CORK.
    Cork(u32, bool),
    /// Replaces the connection of this socket, at both ends, by a fresh open one. The set-up takes
    /// `takes` and is not simulated.
    Renew {
        /// The socket.
        socket: u32,
        /// How long the set-up takes.
        takes: Duration,
    },
    /// Ends the thread.
    Exit,
    /// Ends the whole run.
    Stop,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// There was no call yet: the thread has started.
    Started,
    /// This many octets were read; 0 is the end of the stream.
    Read(u64),
    /// This many octets were written.
    Wrote(u64),
    /// These sockets are ready; none of them if the time ran out.
    Ready {
        /// Sockets that can be read.
        read: Sockets,
        /// Sockets that can be written.
        write: Sockets,
    },
    /// Done.
    Done,
    /// The connection is gone.
    Gone,
}

/// A thread's program.
pub trait Program {
    /// Returns the next call, given the time and the outcome of the last call.
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call;

    /// Returns how much later the thread continues, now that it is woken up, than its host's costs say: not at all, unless
    /// the program knows how late this wake-up is.
    fn wakes_late(&mut self, _now: Instant) -> Duration {
        Duration::ZERO
    }
}
