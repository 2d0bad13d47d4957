//! A trial under load: the task of a backend, and its result.

use std::fmt;
use std::sync::Arc;

use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};

use super::demand::Arrival;
use crate::policy::Policy;

/// The ends whose TCP has the policy that is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// Clients and server.
    #[default]
    Both,
    /// The server alone.
    Server,
    /// The clients alone.
    Client,
}

/// What the server's program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// This many threads (at least 1, and at most one for each connection), each of which polls its share of the
    /// connections.
    EventLoops(u32),
    /// A thread for each connection, which sleeps in its reads and writes.
    ThreadEach,
}

/// Writes it as it is typed: `event-loop`, `event-loop:4`, `threads`.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EventLoops(1) => f.write_str("event-loop"),
            Self::EventLoops(threads) => write!(f, "event-loop:{threads}"),
            Self::ThreadEach => f.write_str("threads"),
        }
    }
}

/// When an event loop writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// Each answer when it is ready.
    #[default]
    Each,
    /// The answers to all requests of one read together, in one write.
    Gathered,
}

/// What the programs of both ends do. Sizes are drawn; times are the same for each request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Programs {
    /// How many connections there are: 1 to 64 on simulated hosts.
    pub connections: u32,
    /// The most requests of a connection that are under way. A request that comes while there are as many waits at
    /// the client, and its latency runs. 1 is a client that waits for each answer; more is pipelining.
    pub depth: u32,
    /// How many writes a request takes; at least 1.
    pub request_writes: u32,
    /// How many writes an answer takes; at least 1.
    pub answer_writes: u32,
    /// The server's program.
    pub server: Server,
    /// When it writes.
    pub replies: Replies,
    /// How long a thread of the server sleeps for a request before it computes, as for a disk or another service. An
    /// event loop serves nobody meanwhile.
    pub pause: Duration,
    /// How long the server computes for a request.
    pub service: Duration,
    /// How long the client computes for an answer.
    pub digest: Duration,
}

/// The lengths of a request and of its answer, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The request's.
    pub request: u32,
    /// The answer's.
    pub answer: u32,
}

/// When the requests of a trial are sent.
#[derive(Clone, Debug)]
pub enum Asked {
    /// At given times, in order: an open loop, which does not wait for answers.
    Open(Arc<[Arrival]>),
    /// Whenever fewer than [`Programs::depth`] of a connection's requests are under way: a closed loop.
    Closed,
}

/// The task of a backend: to serve these requests, and to take the times of their answers.
#[derive(Clone, Debug)]
pub struct LoadTrial {
    /// The policy of the ends that [`ends`](Self::ends) names.
    pub policy: Policy,
    /// Whose policy it is.
    pub ends: Ends,
    /// The policy of the end that [`ends`](Self::ends) leaves out; as it comes if absent.
    pub other: Option<Policy>,
    /// Both ends' rule for acknowledging; the stack's own if absent.
    pub ack_policy: Option<AckPolicy>,
    /// How long both ends may delay an acknowledgment; the stack's own if absent.
    pub ack_timer: Option<AckTimer>,
    /// What the programs do.
    pub programs: Programs,
    /// When requests are sent.
    pub asked: Asked,
    /// The lengths, by connection and in the order of a connection's requests; used up, a list begins again.
    pub messages: Arc<[Box<[Message]>]>,
    /// The time at the beginning that is not measured.
    pub warmup: Duration,
    /// The time that is measured, after that.
    pub window: Duration,
    /// How many equal parts it has whose numbers are shown apart; at least 1.
    pub parts: u32,
    /// How long it is waited for answers after that.
    pub patience: Duration,
    /// The seed, for backends that use random numbers.
    pub seed: u64,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When the request was to be sent, since the beginning.
    pub asked_at: Duration,
    /// How long it was from then to the answer's last octet at the client.
    pub took: Duration,
}

/// What an end did in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndWork {
    /// Segments with data that it sent.
    pub data_segments: u64,
    /// Segments without data that it sent, acknowledgments mostly.
    pub empty_segments: u64,
    /// How long its processor worked.
    pub worked: Duration,
}

/// The result of a trial under load.
#[derive(Clone, Debug, Default)]
pub struct LoadTaken {
    /// The requests that were answered, whenever they came, in the order of their answers.
    pub answers: Vec<Answer>,
    /// When the requests came that were not answered in time.
    pub unanswered: Vec<Duration>,
    /// What client and server did in the measured time.
    pub work: [EndWork; 2],
}
