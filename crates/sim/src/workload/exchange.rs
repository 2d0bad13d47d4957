//! Write, write, read: each message is sent in several writes, and then its writer waits for the
//! other side's message.

use tinygram_engine::{Duration, Instant};

use crate::program::{Call, CallOutcome, Program};

/// One end of the exchange.
#[derive(Clone, Debug)]
pub struct Exchange {
    socket: u32,
    /// The octets of each write of a message.
    writes: Vec<u64>,
    /// The octets of the other side's message.
    expects: u64,
    /// The exchanges that are left.
    left: u32,
    next_write: usize,
    missing: u64,
    began: Instant,
    elapsed: Vec<Duration>,
}

impl Exchange {
    /// Returns the program of the end that speaks first, for `times` exchanges.
    #[must_use]
    pub fn asks(socket: u32, writes: Vec<u64>, expects: u64, times: u32) -> Self {
        let began = Instant::ZERO;
        Self {
            socket,
            writes,
            expects,
            left: times,
            next_write: 0,
            missing: 0,
            began,
            elapsed: Vec::new(),
        }
    }

    /// Returns the program of the end that answers.
    #[must_use]
    pub fn answers(socket: u32, writes: Vec<u64>, expects: u64) -> Self {
        let next_write = writes.len();
        let mut answering = Self::asks(socket, writes, expects, u32::MAX);
        answering.next_write = next_write;
        answering.missing = expects;
        answering
    }

    /// Returns the time from the first write to the last octet of the answer, for each exchange.
    #[must_use]
    pub fn elapsed(&self) -> &[Duration] {
        &self.elapsed
    }
}

impl Program for Exchange {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match last {
            CallOutcome::Gone | CallOutcome::Read(0) => return Call::Exit,
            CallOutcome::Read(octets) => {
                self.missing -= octets;
                if self.missing == 0 {
                    self.elapsed.push(now.since(self.began));
                    self.next_write = 0;
                    self.left -= 1;
                }
            }
            _ => {}
        }
        if self.left == 0 {
            return Call::Stop;
        }
        if self.next_write == 0 && self.missing == 0 {
            self.began = now;
        }
        if let Some(len) = self.writes.get(self.next_write) {
            self.next_write += 1;
            if self.next_write == self.writes.len() {
                self.missing = self.expects;
            }
            return Call::Write {
                socket: self.socket,
                len: *len,
                more: false,
            };
        }
        Call::Read {
            socket: self.socket,
            max: self.missing,
        }
    }
}
