//! Opening a connection, and nothing else.

use tinygram_engine::Instant;

use crate::program::{Call, Outcome, Program};

/// One end, on socket 0.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Connects.
    Client,
    /// Accepts.
    Server,
}

impl Program for Opening {
    fn next(&mut self, _: Instant, last: Outcome) -> Call {
        match (self, last) {
            (Self::Client, Outcome::Started) => Call::Connect(0),
            (Self::Server, Outcome::Started) => Call::Accept(0),
            _ => Call::Exit,
        }
    }
}
