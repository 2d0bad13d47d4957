//! The programs of both ends: a client that asks on many connections, and a server's threads. A thread is a function from
//! the outcome of its last system call to the next one, so simulated hosts and real ones run the same programs.

mod client;
mod outgoing;
mod worker;

use tinygram_engine::{Duration, Instant};
pub use tinygram_sim::program::{Call, CallOutcome, Program, Sockets};

use super::trial::{Answer, LoadTrial, Message, Server};
use client::Client;
use worker::Worker;

/// A thread of either end. Its sockets have the numbers of the connections.
#[derive(Clone, Debug)]
pub struct LoadThread(End);

#[derive(Clone, Debug)]
enum End {
    /// The client.
    Client(Box<Client>),
    /// One of the server's threads.
    Server(Box<Worker>),
}

impl LoadThread {
    /// Returns the client's only thread. It stops when an open loop's requests are all answered.
    #[must_use]
    pub fn of_client(trial: &LoadTrial) -> Self {
        Self(End::Client(Box::new(Client::new(trial))))
    }

    /// Returns the server's threads, each with its share of the connections. They never stop.
    #[must_use]
    pub fn of_server(trial: &LoadTrial) -> Vec<Self> {
        let all = trial.programs.connections;
        let threads = match trial.programs.server {
            Server::EventLoops(threads) => threads.clamp(1, all),
            Server::ThreadEach => all,
        };
        let own = |thread| (0..all).filter(move |socket| socket % threads == thread);
        (0..threads)
            .map(|thread| Self(End::Server(Box::new(Worker::new(trial, own(thread))))))
            .collect()
    }

    /// Returns the sockets that the thread waits on.
    #[must_use]
    pub fn sockets(&self) -> Sockets {
        match &self.0 {
            End::Client(client) => client.sockets(),
            End::Server(worker) => worker.sockets(),
        }
    }

    /// Returns the client's requests that were answered, in the order of their answers; a server has none.
    #[must_use]
    pub fn answers(&self) -> &[Answer] {
        match &self.0 {
            End::Client(client) => client.answers(),
            End::Server(_) => &[],
        }
    }

    /// Returns when the client's requests came that were due by `now` and are not answered; a server has none.
    #[must_use]
    pub fn unanswered(&self, now: Instant) -> Vec<Duration> {
        match &self.0 {
            End::Client(client) => client.unanswered(now),
            End::Server(_) => Vec::new(),
        }
    }
}

impl Program for LoadThread {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match &mut self.0 {
            End::Client(client) => client.next(now, last),
            End::Server(worker) => worker.next(last),
        }
    }
}

/// The call that a thread is in.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Waiting,
    Reading(u32),
    Writing(u32),
    Computing,
    Pausing,
}

/// Returns the lengths of a connection's request and answer with this number.
fn message(of: &[Message], number: usize) -> Message {
    of[number % of.len()]
}

/// The most octets of one read: a usual buffer of event loops.
const READ: u64 = 64 * 1024;
