//! An event-driven server. It sleeps only in `poll`, never in a read or a write, so DLDET never
//! sees it block on a socket (Mogul & Minshall, section 5.6.1).

use tinygram_engine::Instant;

use crate::program::{Call, CallOutcome, Program, Sockets};

/// Answers each request of `request` octets with several writes.
#[derive(Clone, Debug)]
pub struct EventLoop {
    sockets: Sockets,
    request: u64,
    writes: Vec<u64>,
    /// Sockets with something to read that were not looked at yet.
    readable: Sockets,
    /// The socket being answered, and the index of the next write.
    answering: Option<(u32, usize)>,
    reading: Option<u32>,
    /// The octets of a request that have come, by socket.
    got: [u64; 64],
}

impl EventLoop {
    /// Returns a server for these sockets.
    #[must_use]
    pub fn new(sockets: Sockets, request: u64, writes: Vec<u64>) -> Self {
        let (readable, answering, reading) = (Sockets::NONE, None, None);
        Self {
            sockets,
            request,
            writes,
            readable,
            answering,
            reading,
            got: [0; 64],
        }
    }

    fn take(&mut self, octets: u64) {
        let Some(socket) = self.reading.take() else {
            return;
        };
        if octets == 0 {
            self.sockets = self.sockets.without(socket);
            return;
        }
        let got = &mut self.got[socket as usize];
        *got += octets;
        if *got >= self.request {
            *got -= self.request;
            self.answering = Some((socket, 0));
        }
    }
}

impl Program for EventLoop {
    fn next(&mut self, _: Instant, last: CallOutcome) -> Call {
        match last {
            CallOutcome::Ready { read, .. } => self.readable = read,
            CallOutcome::Read(octets) => self.take(octets),
            _ => {}
        }
        if let Some((socket, write)) = self.answering {
            if let Some(len) = self.writes.get(write) {
                self.answering = Some((socket, write + 1));
                return Call::TryWrite { socket, len: *len };
            }
            self.answering = None;
        }
        if let Some(socket) = self.readable.iter().next() {
            self.readable = self.readable.without(socket);
            self.reading = Some(socket);
            return Call::Read {
                socket,
                max: self.request,
            };
        }
        Call::Poll {
            read: self.sockets,
            write: Sockets::NONE,
            timeout: None,
        }
    }
}
