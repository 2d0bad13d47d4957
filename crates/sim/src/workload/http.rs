//! Pages over HTTP: each document over its own connection, or all over one (P-HTTP), from a server
//! built like Apache 1.1 (Heidemann, section 2).
//!
//! Programs spend their computing time asleep, because the kernels of such hosts take in segments
//! and clock ticks while an application computes.

use std::sync::Arc;

use tinygram_engine::{Duration, Instant};

use crate::program::{Call, CallOutcome, Program, Sockets};

/// A request and its answer; sizes in octets, each at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// The size of the request.
    pub request: u64,
    /// The size of the answer's headers.
    pub headers: u64,
    /// The size of the document.
    pub body: u64,
    /// How long the user reads before asking for it.
    pub pause: Duration,
}

impl Document {
    /// Returns the size of the whole answer, in octets.
    #[must_use]
    pub const fn answer(&self) -> u64 {
        self.headers + self.body
    }
}

/// What both ends are told.
#[derive(Clone, Debug)]
pub struct HttpPlan {
    /// The documents to ask for, in order, each after the answer before it (no pipelining).
    pub documents: Arc<[Document]>,
    /// Whether all use one connection (P-HTTP); otherwise the server closes after each answer.
    pub persistent: bool,
    /// How the server writes.
    pub server: ServerHabits,
    /// The time that the client takes before a SYN.
    pub open: Duration,
    /// The time that the client takes to close a connection.
    pub close: Duration,
    /// The time that the client takes between having a connection, or an answer, and the request.
    pub think: Duration,
}

/// How the server writes an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHabits {
    /// The octets of the buffer through which it writes.
    pub buffer: u64,
    /// Whether the buffer is flushed after the headers.
    pub headers_apart: bool,
    /// Whether TCP_NODELAY is set.
    pub nodelay: bool,
    /// The time from a request's arrival until the server reads it.
    pub service: Duration,
}

/// A program. Socket `n` is the `n`-th connection.
#[derive(Clone, Debug)]
pub enum Http {
    /// Asks for the documents and measures.
    Client(Client),
    /// Serves one connection.
    Server(Server),
}

/// The times of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// When it was wanted; a connection for it may still have to be opened.
    pub began: Instant,
    /// When all of it was there; if the server closes, its FIN too.
    pub ended: Instant,
}

/// The client's program.
#[derive(Clone, Debug)]
pub struct Client {
    plan: HttpPlan,
    fetched: Vec<Fetched>,
    began: Instant,
    missing: u64,
    doing: Doing,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Starting,
    Pausing,
    Opening,
    Connecting,
    Thinking,
    Asking,
    Reading,
    Closing,
    PuttingAway,
}

/// The program of one of the server's processes.
#[derive(Clone, Debug)]
pub struct Server {
    plan: HttpPlan,
    socket: u32,
    /// The number of this connection's documents that have been served.
    served: usize,
    /// The octets of the request that have not come yet.
    missing: u64,
    /// The writes that are left, last write first.
    writes: Vec<u64>,
    doing: Serving,
}

#[derive(Clone, Copy, Debug)]
enum Serving {
    Starting,
    Accepting,
    Waiting,
    Resting,
    Reading,
    Writing,
    Closing,
}

impl Http {
    /// Returns the client's program.
    #[must_use]
    pub fn client(plan: HttpPlan) -> Self {
        let fetched = Vec::with_capacity(plan.documents.len());
        Self::Client(Client {
            plan,
            fetched,
            began: Instant::ZERO,
            missing: 0,
            doing: Doing::Starting,
        })
    }

    /// Returns the server's programs: a process per connection, all of them waiting from the start,
    /// as Apache's children do.
    #[must_use]
    pub fn server(plan: &HttpPlan) -> Vec<Self> {
        let process = |socket| {
            Self::Server(Server {
                plan: plan.clone(),
                socket,
                served: 0,
                missing: 0,
                writes: Vec::new(),
                doing: Serving::Starting,
            })
        };
        (0..plan.connections()).map(process).collect()
    }

    /// Returns what the client measured, by document.
    #[must_use]
    pub fn fetched(&self) -> &[Fetched] {
        match self {
            Self::Client(client) => &client.fetched,
            Self::Server(_) => &[],
        }
    }
}

impl HttpPlan {
    /// Returns the number of connections.
    #[must_use]
    pub fn connections(&self) -> u32 {
        if self.persistent {
            1
        } else {
            self.documents.len() as u32
        }
    }

    /// Returns the writes that make up an answer, in order.
    fn writes(&self, document: &Document) -> impl DoubleEndedIterator<Item = u64> + use<> {
        let ServerHabits {
            buffer,
            headers_apart,
            ..
        } = self.server;
        let (first, rest) = if headers_apart {
            (document.headers, document.body)
        } else {
            (0, document.answer())
        };
        let full = (0..rest / buffer).map(move |_| buffer);
        let parts = std::iter::once(first).chain(full).chain([rest % buffer]);
        parts.collect::<Vec<_>>().into_iter().filter(|len| *len > 0)
    }
}

impl Program for Http {
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
            (_, CallOutcome::Gone) => Call::Stop,
            (Doing::Starting | Doing::PuttingAway, _) => self.want(),
            (Doing::Pausing, _) => self.begin(now),
            (Doing::Opening, _) => self.does(Doing::Connecting, Call::Connect(self.socket())),
            (Doing::Connecting, _) => self.think(),
            (Doing::Thinking, _) => self.ask(),
            (Doing::Asking, _) => self.read(),
            (Doing::Reading, CallOutcome::Read(octets)) => self.took(octets, now),
            (Doing::Reading, _) => Call::Stop,
            (Doing::Closing, _) => self.does(Doing::PuttingAway, Call::Sleep(self.plan.close)),
        }
    }

    fn does(&mut self, doing: Doing, call: Call) -> Call {
        self.doing = doing;
        call
    }

    /// Returns the connection of the document that is wanted.
    fn socket(&self) -> u32 {
        if self.plan.persistent {
            0
        } else {
            self.fetched.len() as u32
        }
    }

    fn wanted(&self) -> Option<&Document> {
        self.plan.documents.get(self.fetched.len())
    }

    fn want(&mut self) -> Call {
        match self.wanted() {
            None => Call::Stop,
            Some(document) => {
                let pause = document.pause;
                self.does(Doing::Pausing, Call::Sleep(pause))
            }
        }
    }

    fn begin(&mut self, now: Instant) -> Call {
        self.began = now;
        if self.plan.persistent && !self.fetched.is_empty() {
            self.think()
        } else {
            self.does(Doing::Opening, Call::Sleep(self.plan.open))
        }
    }

    fn think(&mut self) -> Call {
        self.does(Doing::Thinking, Call::Sleep(self.plan.think))
    }

    fn ask(&mut self) -> Call {
        let Some(document) = self.wanted() else {
            return Call::Stop;
        };
        let len = document.request;
        self.missing = document.answer();
        let socket = self.socket();
        let more = false;
        self.does(Doing::Asking, Call::Write { socket, len, more })
    }

    /// Reads what there is.
    fn read(&mut self) -> Call {
        let (socket, max) = (self.socket(), 8192);
        self.does(Doing::Reading, Call::Read { socket, max })
    }

    fn took(&mut self, octets: u64, now: Instant) -> Call {
        self.missing = self.missing.saturating_sub(octets);
        // Without P-HTTP the end of the stream ends the document.
        let ended = octets == 0 || (self.plan.persistent && self.missing == 0);
        if !ended {
            return self.read();
        }
        let (socket, began) = (self.socket(), self.began);
        self.fetched.push(Fetched { began, ended: now });
        if self.plan.persistent && self.wanted().is_some() {
            self.want()
        } else {
            self.does(Doing::Closing, Call::Close(socket))
        }
    }
}

impl Server {
    fn next(&mut self, last: CallOutcome) -> Call {
        match (self.doing, last) {
            (_, CallOutcome::Gone) => Call::Exit,
            (Serving::Starting, _) => self.does(Serving::Accepting, Call::Accept(self.socket)),
            (Serving::Accepting, _) => {
                let nodelay = Call::NoDelay(self.socket, self.plan.server.nodelay);
                self.does(Serving::Writing, nodelay)
            }
            (Serving::Waiting, _) => {
                self.does(Serving::Resting, Call::Sleep(self.plan.server.service))
            }
            (Serving::Resting, _) => self.read(),
            (Serving::Reading, CallOutcome::Read(0)) => self.close(),
            (Serving::Reading, CallOutcome::Read(octets)) => self.took(octets),
            (Serving::Writing, _) => self.write(),
            (Serving::Reading | Serving::Closing, _) => Call::Exit,
        }
    }

    fn does(&mut self, doing: Serving, call: Call) -> Call {
        self.doing = doing;
        call
    }

    /// Returns the document that this connection asks for next.
    fn wanted(&self) -> Option<&Document> {
        if self.plan.persistent {
            self.plan.documents.get(self.served)
        } else {
            let own = self.plan.documents.get(self.socket as usize);
            own.filter(|_| self.served == 0)
        }
    }

    fn wait(&mut self) -> Call {
        self.missing = self.wanted().map_or(1, |document| document.request);
        let read = Sockets::one(self.socket);
        let (write, timeout) = (Sockets::NONE, None);
        let poll = Call::Poll {
            read,
            write,
            timeout,
        };
        self.does(Serving::Waiting, poll)
    }

    fn read(&mut self) -> Call {
        let (socket, max) = (self.socket, self.missing);
        self.does(Serving::Reading, Call::Read { socket, max })
    }

    fn took(&mut self, octets: u64) -> Call {
        self.missing -= octets;
        if self.missing > 0 {
            return self.read();
        }
        if let Some(document) = self.wanted() {
            self.writes = self.plan.writes(document).rev().collect();
            self.served += 1;
        }
        self.write()
    }

    fn write(&mut self) -> Call {
        let (socket, more) = (self.socket, false);
        match self.writes.pop() {
            Some(len) => self.does(Serving::Writing, Call::Write { socket, len, more }),
            None if self.served > 0 && !self.plan.persistent => self.close(),
            None => self.wait(),
        }
    }

    fn close(&mut self) -> Call {
        self.does(Serving::Closing, Call::Close(self.socket))
    }
}
