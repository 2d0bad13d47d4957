//! Opening a connection, and nothing else.

use tinygram_engine::Instant;

use crate::program::{Call, CallOutcome, Program};

/// One end, on socket 0.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Connects.
    Client,
    /// Accepts.
    Server,
}

impl Program for Opening {
    fn next(&mut self, _: Instant, last: CallOutcome) -> Call {
        match (self, last) {
            (Self::Client, CallOutcome::Started) => Call::Connect(0),
            (Self::Server, CallOutcome::Started) => Call::Accept(0),
            _ => Call::Exit,
        }
    }
}
