//! The programs of naglemark: a client sends requests, a server answers with a given number of
//! octets, and the client measures the time (Mogul & Minshall, section 6).

use std::sync::Arc;

use tinygram_engine::{Duration, Instant};
use tinygram_sim::program::{Call, CallOutcome, Program, Sockets};

/// How long a spinning server is busy between two polls.
const SPIN: Duration = Duration::from_micros(1);
/// The only socket of the benchmark.
const SOCKET: u32 = 0;

/// The settings of both ends.
#[derive(Clone, Debug)]
pub struct Script {
    /// The length of each answer, in octets.
    pub lengths: Arc<[u32]>,
    /// The length of a request, in octets.
    pub request: u64,
    /// The server writes this many octets at a time.
    pub app_buffer: u64,
    /// The client reads at most this many octets at a time.
    pub read_size: u64,
    /// How many requests share a connection.
    pub requests_per_connection: usize,
    /// The time that a new connection takes, which is not measured.
    pub set_up: Duration,
    /// The time that the server needs for a request.
    pub service: Duration,
    /// The time that the client needs between an answer and the next request.
    pub think: Duration,
    /// How the server tells its kernel which writes belong together.
    pub writes: Writes,
}

/// How a server waits for the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// In a read.
    #[default]
    Reading,
    /// In a poll for events.
    Polling,
    /// It does not wait: it polls with a timeout of 0 again and again (busy polling).
    Spinning,
    /// In a read, after it has written its answer and computed for this long. Before that nobody
    /// sees it wait; the watchdog is for this case.
    ReadingAfter(Duration),
}

/// How a server marks the pieces of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writes {
    /// Nothing.
    #[default]
    Plain,
    /// With MSG_MORE on all but the last.
    More,
    /// With MSG_MORE on every one, and TCP_NODELAY after the last, which sends the held octets.
    MoreThenFlush,
    /// With TCP_CORK set before the first and cleared after the last.
    Corked,
}

/// One of the two programs.
#[derive(Clone, Debug)]
pub enum Naglemark {
    /// Asks and measures.
    Client(Client),
    /// Answers.
    Server(Server),
}

/// The client's program.
#[derive(Clone, Debug)]
pub struct Client {
    script: Script,
    asked: usize,
    asked_at: Instant,
    missing: u64,
    elapsed: Vec<Duration>,
    doing: Doing,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Thinking,
    Asking,
    Reading,
}

/// The server's program.
#[derive(Clone, Debug)]
pub struct Server {
    script: Script,
    served: usize,
    /// Octets of the request that have not arrived yet; later, octets of the answer that are not
    /// written yet.
    missing: u64,
    answering: bool,
    /// Whether it has set its cork.
    corked: bool,
    /// Whether there is nothing to flush.
    flushed: bool,
    waits: Waits,
    /// Whether it has done what it does before it reads.
    waited: bool,
}

impl Naglemark {
    /// Returns the client.
    #[must_use]
    pub fn client(script: Script) -> Self {
        let elapsed = Vec::with_capacity(script.lengths.len());
        Self::Client(Client {
            script,
            asked: 0,
            asked_at: Instant::ZERO,
            missing: 0,
            elapsed,
            doing: Doing::Thinking,
        })
    }

    /// Returns the server, which waits in its reads.
    #[must_use]
    pub fn server(script: Script) -> Self {
        Self::server_that(Waits::Reading, script)
    }

    /// Returns a server that waits in another way.
    #[must_use]
    pub fn server_that(waits: Waits, script: Script) -> Self {
        let missing = script.request;
        Self::Server(Server {
            script,
            served: 0,
            missing,
            answering: false,
            corked: false,
            flushed: true,
            waits,
            waited: false,
        })
    }

    /// Returns the client's measurements, one for each request: the time from sending it to the
    /// last octet of the answer.
    #[must_use]
    pub fn elapsed(&self) -> &[Duration] {
        match self {
            Self::Client(client) => &client.elapsed,
            Self::Server(_) => &[],
        }
    }
}

impl Program for Naglemark {
    #[inline]
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match self {
            Self::Client(client) => client.next(now, last),
            Self::Server(server) => server.next(last),
        }
    }
}

impl Client {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match (self.doing, last) {
            (_, CallOutcome::Gone | CallOutcome::Read(0)) => Call::Stop,
            (Doing::Thinking, _) => self.ask(now),
            (Doing::Asking, _) => {
                self.doing = Doing::Reading;
                self.read()
            }
            (Doing::Reading, CallOutcome::Read(octets)) => {
                self.missing -= octets;
                if self.missing > 0 {
                    self.read()
                } else {
                    self.answered(now)
                }
            }
            (Doing::Reading, _) => Call::Stop,
        }
    }

    fn ask(&mut self, now: Instant) -> Call {
        let Some(length) = self.script.lengths.get(self.asked) else {
            return Call::Stop;
        };
        self.missing = u64::from(*length);
        self.asked += 1;
        self.asked_at = now;
        self.doing = Doing::Asking;
        Call::Write {
            socket: SOCKET,
            len: self.script.request,
            more: false,
        }
    }

    fn read(&self) -> Call {
        Call::Read {
            socket: SOCKET,
            max: self.script.read_size.min(self.missing),
        }
    }

    fn answered(&mut self, now: Instant) -> Call {
        self.elapsed.push(now.since(self.asked_at));
        self.doing = Doing::Thinking;
        if self.asked == self.script.lengths.len() {
            Call::Stop
        } else if self
            .asked
            .is_multiple_of(self.script.requests_per_connection)
        {
            Call::Renew {
                socket: SOCKET,
                takes: self.script.set_up,
            }
        } else {
            Call::Compute(self.script.think)
        }
    }
}

impl Server {
    fn next(&mut self, last: CallOutcome) -> Call {
        match last {
            CallOutcome::Gone | CallOutcome::Read(0) => return Call::Exit,
            CallOutcome::Read(octets) | CallOutcome::Wrote(octets) => self.missing -= octets,
            _ => {}
        }
        if self.missing == 0 && !self.answering {
            let Some(length) = self.script.lengths.get(self.served) else {
                return Call::Exit;
            };
            self.missing = u64::from(*length);
            self.served += 1;
            self.answering = true;
            return Call::Compute(self.script.service);
        }
        if self.corked != self.wants_cork() {
            self.corked = !self.corked;
            return Call::Cork(SOCKET, self.corked);
        }
        if self.missing == 0 {
            if !std::mem::replace(&mut self.flushed, true) {
                return Call::NoDelay(SOCKET, true);
            }
            self.missing = self.script.request;
            self.answering = false;
            self.waited = false;
        }
        if self.answering {
            let len = self.missing.min(self.script.app_buffer);
            self.flushed = self.script.writes != Writes::MoreThenFlush;
            Call::Write {
                socket: SOCKET,
                len,
                more: match self.script.writes {
                    Writes::More => len < self.missing,
                    Writes::MoreThenFlush => true,
                    Writes::Plain | Writes::Corked => false,
                },
            }
        } else {
            self.wait(last).unwrap_or(Call::Read {
                socket: SOCKET,
                max: self.missing,
            })
        }
    }

    /// Returns the call that the server makes before it reads, if one is left.
    fn wait(&mut self, last: CallOutcome) -> Option<Call> {
        let timeout = match self.waits {
            Waits::Reading => return None,
            Waits::ReadingAfter(time) => {
                let computed = std::mem::replace(&mut self.waited, true);
                return (!computed && self.served > 0).then_some(Call::Compute(time));
            }
            Waits::Polling => None,
            Waits::Spinning => Some(Duration::ZERO),
        };
        let is_ready = match last {
            // On hosts whose calls cost nothing, time would not pass otherwise.
            CallOutcome::Ready { read, .. } if read.is_empty() => {
                return Some(Call::Compute(SPIN));
            }
            CallOutcome::Ready { .. } => true,
            _ => false,
        };
        (!is_ready).then_some(Call::Poll {
            read: Sockets::one(SOCKET),
            write: Sockets::NONE,
            timeout,
        })
    }

    /// Returns whether the server is in the middle of an answer, so that the cork should be set.
    fn wants_cork(&self) -> bool {
        self.script.writes == Writes::Corked && self.answering && self.missing > 0
    }
}
