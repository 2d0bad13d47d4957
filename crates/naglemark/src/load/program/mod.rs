//! The programs of the simulated ends: a client that asks on many connections, and a server's threads.

mod client;
mod outgoing;
mod worker;

use tinygram_engine::Instant;
use tinygram_sim::program::{Call, CallOutcome, Program};

use super::trial::{LoadTrial, Message, Server};
pub(super) use client::Client;
use worker::Worker;

/// A thread of either end.
#[derive(Clone, Debug)]
pub(in crate::load) enum Thread {
    /// The client.
    Client(Box<Client>),
    /// One of the server's.
    Server(Box<Worker>),
}

impl Thread {
    /// Returns the client's only thread.
    pub(in crate::load) fn of_client(trial: &LoadTrial) -> Vec<Self> {
        vec![Self::Client(Box::new(Client::new(trial)))]
    }

    /// Returns the server's threads, each with its share of the connections.
    pub(in crate::load) fn of_server(trial: &LoadTrial) -> Vec<Self> {
        let all = trial.programs.connections;
        let threads = match trial.programs.server {
            Server::EventLoops(threads) => threads.clamp(1, all),
            Server::ThreadEach => all,
        };
        let own = |thread| (0..all).filter(move |socket| socket % threads == thread);
        (0..threads)
            .map(|thread| Self::Server(Box::new(Worker::new(trial, own(thread)))))
            .collect()
    }
}

impl Program for Thread {
    fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match self {
            Self::Client(client) => client.next(now, last),
            Self::Server(worker) => worker.next(last),
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
