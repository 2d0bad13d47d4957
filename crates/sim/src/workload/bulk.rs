//! A bulk transfer: one end writes a number of octets in equal writes, and the other reads them
//! all.

use tinygram_engine::Instant;

use crate::program::{Call, CallOutcome, Program};

/// The only socket of a bulk transfer.
const SOCKET: u32 = 0;

/// One end of the transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// Writes, then exits.
    Writer {
        /// The octets left to write.
        left: u64,
        /// The octets of each write except the last; at least 1.
        write: u64,
    },
    /// Reads until everything has come, then stops the run.
    Reader {
        /// The octets that have not come yet.
        missing: u64,
        /// The most octets per read; at least 1.
        read: u64,
    },
}

impl Bulk {
    /// Returns the two ends of a transfer of `octets` by calls of `call` octets, the writer first.
    #[must_use]
    pub const fn ends(octets: u64, call: u64) -> [Self; 2] {
        [
            Self::Writer {
                left: octets,
                write: call,
            },
            Self::Reader {
                missing: octets,
                read: call,
            },
        ]
    }
}

impl Program for Bulk {
    fn next(&mut self, _: Instant, last: CallOutcome) -> Call {
        if last == CallOutcome::Gone {
            return Call::Exit;
        }
        match self {
            Self::Writer { left: 0, .. } => Call::Exit,
            Self::Writer { left, write } => {
                let len = (*left).min(*write);
                *left -= len;
                Call::Write {
                    socket: SOCKET,
                    len,
                    more: false,
                }
            }
            Self::Reader { missing, read } => {
                if let CallOutcome::Read(octets) = last {
                    *missing = missing.saturating_sub(octets);
                }
                if *missing == 0 {
                    return Call::Stop;
                }
                Call::Read {
                    socket: SOCKET,
                    max: *read,
                }
            }
        }
    }
}
