//! One-way traffic: one program writes a little at fixed times, and one reads whatever comes.

use tinygram_engine::{Duration, Instant};

use crate::program::{Call, CallOutcome, Program};

/// One end of the conversation.
#[derive(Clone, Debug)]
pub enum Periodic {
    /// Writes at fixed times, whatever happens to the data, and then ends.
    Writer(Writer),
    /// Reads until the end of the stream.
    Reader {
        /// The socket.
        socket: u32,
    },
}

/// Writes `len` octets at once, and then again every `period`.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// The socket.
    pub socket: u32,
    /// The octets of each write.
    pub len: u64,
    /// The writes that are left.
    pub left: u32,
    /// The time from one write to the next.
    pub period: Duration,
    /// When the next write is due.
    pub due: Instant,
}

impl Program for Periodic {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match self {
            Self::Writer(writer) => writer.next(now, last),
            Self::Reader { .. } if matches!(last, CallOutcome::Read(0) | CallOutcome::Gone) => {
                Call::Exit
            }
            Self::Reader { socket } => Call::Read {
                socket: *socket,
                max: 65_536,
            },
        }
    }
}

impl Writer {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        if self.left == 0 || last == CallOutcome::Gone {
            return Call::Exit;
        }
        if now < self.due {
            return Call::Sleep(self.due.since(now));
        }
        self.left -= 1;
        self.due += self.period;
        Call::Write {
            socket: self.socket,
            len: self.len,
            more: false,
        }
    }
}
