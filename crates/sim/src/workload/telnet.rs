//! Telnet with two threads: one writes keystrokes, the other always waits in a read (Mogul &
//! Minshall, section 5.6).

use tinygram_engine::{Duration, Instant};

use crate::program::{Call, CallOutcome, Program};

/// A thread of the client, or the server that echoes.
#[derive(Clone, Debug)]
pub enum Telnet {
    /// Types one octet after the other.
    Typist {
        /// The socket.
        socket: u32,
        /// The octets left to type.
        left: u32,
        /// The time between two octets.
        pause: Duration,
        /// Whether it has just typed and now pauses.
        typed: bool,
    },
    /// Reads until everything was echoed.
    Screen {
        /// The socket.
        socket: u32,
        /// The octets that have not come yet.
        missing: u64,
    },
    /// Sends back what it reads.
    Echo {
        /// The socket.
        socket: u32,
    },
}

impl Program for Telnet {
    fn next(&mut self, _: Instant, last: CallOutcome) -> Call {
        match self {
            Self::Typist { left: 0, .. } => Call::Exit,
            Self::Typist {
                pause,
                typed: typed @ true,
                ..
            } => {
                *typed = false;
                Call::Sleep(*pause)
            }
            Self::Typist {
                socket,
                left,
                typed,
                ..
            } => {
                *left -= 1;
                *typed = true;
                Call::Write {
                    socket: *socket,
                    len: 1,
                    more: false,
                }
            }
            Self::Screen { socket, missing } => {
                if let CallOutcome::Read(octets) = last {
                    *missing = missing.saturating_sub(octets);
                }
                if *missing == 0 {
                    Call::Stop
                } else {
                    Call::Read {
                        socket: *socket,
                        max: 4096,
                    }
                }
            }
            Self::Echo { socket } => match last {
                CallOutcome::Read(0) | CallOutcome::Gone => Call::Exit,
                CallOutcome::Read(len) => Call::Write {
                    socket: *socket,
                    len,
                    more: false,
                },
                _ => Call::Read {
                    socket: *socket,
                    max: 4096,
                },
            },
        }
    }
}
