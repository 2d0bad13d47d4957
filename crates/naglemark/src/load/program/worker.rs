//! A thread of the server: it reads requests, computes, and writes answers.

use std::collections::VecDeque;
use std::sync::Arc;

use tinygram_engine::Duration;
use tinygram_sim::program::{Call, CallOutcome, Sockets};

use super::outgoing::Outgoing;
use super::{Doing, READ, message};
use crate::load::trial::{LoadTrial, Message, Programs, Replies, Server};

/// A thread of the server.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    programs: Programs,
    /// The only socket of a thread that sleeps in its reads and writes.
    sleeps_on: Option<u32>,
    own: Sockets,
    messages: Arc<[Box<[Message]>]>,
    /// By socket: the octets of the request that comes, and how many have come before it.
    arrived: Vec<(u64, usize)>,
    /// The requests of the last read that are not answered yet: each one's socket and the length of its answer.
    asked: VecDeque<(u32, u32)>,
    /// Whether the thread has slept for the first of them.
    has_paused: bool,
    /// The octets of answers that wait for those to the other requests of the same read.
    gathered: u64,
    out: Outgoing,
    readable: Sockets,
    doing: Doing,
}

impl Worker {
    /// Returns a thread that serves these connections.
    pub(super) fn new(trial: &LoadTrial, mut own: impl Iterator<Item = u32> + Clone) -> Self {
        let connections = trial.programs.connections;
        Self {
            programs: trial.programs,
            own: own.clone().fold(Sockets::NONE, Sockets::and),
            sleeps_on: match trial.programs.server {
                Server::ThreadEach => own.next(),
                Server::EventLoops(_) => None,
            },
            messages: trial.messages.clone(),
            arrived: vec![(0, 0); connections as usize],
            asked: VecDeque::new(),
            has_paused: false,
            gathered: 0,
            out: Outgoing::new(connections),
            readable: Sockets::NONE,
            doing: Doing::Waiting,
        }
    }

    /// Returns the sockets that it waits on.
    pub(super) fn sockets(&self) -> Sockets {
        self.own
    }

    pub(super) fn next(&mut self, last: CallOutcome) -> Call {
        match (self.doing, last) {
            (Doing::Reading(socket), CallOutcome::Read(octets)) => self.read(socket, octets),
            (Doing::Writing(socket), CallOutcome::Wrote(octets)) => self.out.wrote(socket, octets),
            (Doing::Pausing, _) => self.has_paused = true,
            (Doing::Computing, _) => self.answer(),
            (_, CallOutcome::Ready { read, write }) => {
                self.readable = read;
                self.out.have_space(write);
            }
            _ => {}
        }
        loop {
            if let Some((socket, len)) = self.out.next() {
                self.doing = Doing::Writing(socket);
                return self.write(socket, len);
            }
            if self.asked.is_empty() {
                break;
            }
            if self.programs.pause > Duration::ZERO && !self.has_paused {
                self.doing = Doing::Pausing;
                return Call::Sleep(self.programs.pause);
            }
            if self.programs.service > Duration::ZERO {
                self.doing = Doing::Computing;
                return Call::Compute(self.programs.service);
            }
            self.answer();
        }
        let next = self.sleeps_on.or_else(|| self.readable.iter().next());
        if let Some(socket) = next {
            self.readable = self.readable.without(socket);
            self.doing = Doing::Reading(socket);
            return Call::Read { socket, max: READ };
        }
        self.doing = Doing::Waiting;
        Call::Poll {
            read: self.own,
            write: self.out.full(),
            timeout: None,
        }
    }

    fn write(&self, socket: u32, len: u64) -> Call {
        match self.sleeps_on {
            None => Call::TryWrite { socket, len },
            Some(_) => Call::Write {
                socket,
                len,
                more: false,
            },
        }
    }

    /// Finds the requests that these octets complete.
    fn read(&mut self, socket: u32, octets: u64) {
        let (arrived, before) = &mut self.arrived[socket as usize];
        let messages = &self.messages[socket as usize];
        *arrived += octets;
        loop {
            let Message { request, answer } = message(messages, *before);
            let Some(rest) = arrived.checked_sub(request.into()) else {
                return;
            };
            (*arrived, *before) = (rest, *before + 1);
            self.asked.push_back((socket, answer));
        }
    }

    /// Answers the first of the requests, or has its answer wait for those to the others.
    fn answer(&mut self) {
        let Some((socket, answer)) = self.asked.pop_front() else {
            return;
        };
        self.has_paused = false;
        let octets = std::mem::take(&mut self.gathered) + u64::from(answer);
        match self.programs.replies {
            Replies::Each => self.out.push(socket, octets, self.programs.answer_writes),
            // All that are asked are of one socket: a thread reads again when it has answered.
            Replies::Gathered if self.asked.is_empty() => self.out.push(socket, octets, 1),
            Replies::Gathered => self.gathered = octets,
        }
    }
}
