//! An application is a program of system calls: a function from how the last call ended to the
//! next call. Blocking servers, event loops and pairs of threads are all written this way.

use tinygram_engine::{Duration, Instant};

/// A set of up to 64 sockets by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets(u64);

impl Sockets {
    /// None.
    pub const NONE: Self = Self(0);

    /// Just this one.
    #[must_use]
    pub const fn one(socket: u32) -> Self {
        Self(1 << socket)
    }

    /// This one as well.
    #[must_use]
    pub const fn and(self, socket: u32) -> Self {
        Self(self.0 | 1 << socket)
    }

    /// Without this one.
    #[must_use]
    pub const fn without(self, socket: u32) -> Self {
        Self(self.0 & !(1 << socket))
    }

    /// Returns whether this one is among them.
    #[must_use]
    pub const fn has(self, socket: u32) -> bool {
        self.0 & 1 << socket != 0
    }

    /// Returns whether there is none.
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

/// A system call, or something else a thread spends time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reads up to `max` octets; sleeps until there is something, or the end of the stream.
    Read {
        /// From this socket.
        socket: u32,
        /// At the most this many octets.
        max: u64,
    },
    /// Writes `len` octets (at least one); sleeps until all of them are in the send buffer.
    Write {
        /// To this socket.
        socket: u32,
        /// This many octets.
        len: u64,
        /// With MSG_MORE: another write follows.
        more: bool,
    },
    /// Writes what fits without sleeping.
    TryWrite {
        /// To this socket.
        socket: u32,
        /// At the most this many octets.
        len: u64,
    },
    /// Sleeps until one of these is ready, or for `timeout`.
    Poll {
        /// Ready once there is something to read, or the end of the stream.
        read: Sockets,
        /// Ready once there is space in the send buffer.
        write: Sockets,
        /// At the most this long; without it, for ever.
        timeout: Option<Duration>,
    },
    /// Computes.
    Compute(Duration),
    /// Sleeps.
    Sleep(Duration),
    /// Opens the connection of this socket and sleeps until it is open.
    Connect(u32),
    /// Listens on this socket and sleeps until a connection is open.
    Accept(u32),
    /// Closes the sending side; a FIN follows what is in the buffer.
    Close(u32),
    /// Sets TCP_NODELAY.
    NoDelay(u32, bool),
    /// Sets TCP_CORK.
    Cork(u32, bool),
    /// Replaces the connection of this socket, at both ends, by a fresh one that is open; the
    /// set-up takes `takes` and is not simulated.
    Renew {
        /// This socket.
        socket: u32,
        /// How long the set-up takes.
        takes: Duration,
    },
    /// The thread ends.
    Exit,
    /// The whole run ends.
    Stop,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There was no call yet: the thread starts.
    Started,
    /// This many octets were read; 0 is the end of the stream.
    Read(u64),
    /// This many octets were written.
    Wrote(u64),
    /// These are ready; none of them if the time ran out.
    Ready {
        /// Something can be read.
        read: Sockets,
        /// Something can be written.
        write: Sockets,
    },
    /// Done.
    Done,
    /// The connection is gone.
    Gone,
}

/// A thread's program.
pub trait Program {
    /// Returns the next call, given the time and how the last one ended.
    fn next(&mut self, now: Instant, last: Outcome) -> Call;
}
