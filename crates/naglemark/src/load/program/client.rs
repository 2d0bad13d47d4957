//! The client's thread: it sends what is due, reads what has come, and sleeps until there is more of either.

use std::collections::VecDeque;
use std::sync::Arc;

use tinygram_engine::{Duration, Instant};
use tinygram_sim::program::{Call, CallOutcome, Sockets};

use super::outgoing::Outgoing;
use super::{Doing, READ, message};
use crate::load::demand::Arrival;
use crate::load::trial::{Answer, Asked, LoadTrial, Message, Programs};

/// The client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    programs: Programs,
    /// The arrivals of an open loop; a closed loop has none.
    arrivals: Option<Arc<[Arrival]>>,
    /// How many arrivals were taken in.
    taken_in: usize,
    messages: Arc<[Box<[Message]>]>,
    lines: Vec<Line>,
    out: Outgoing,
    all: Sockets,
    readable: Sockets,
    doing: Doing,
    answers: Vec<Answer>,
}

/// A connection as the client knows it.
#[derive(Clone, Debug, Default)]
struct Line {
    /// When the requests came that are not sent yet.
    waiting: VecDeque<Instant>,
    /// When those came that are, and how many octets of their answers are missing.
    under_way: VecDeque<(Instant, u64)>,
    /// How many were sent.
    sent: usize,
}

impl Client {
    pub(super) fn new(trial: &LoadTrial) -> Self {
        let connections = trial.programs.connections;
        let arrivals = match &trial.asked {
            Asked::Open(arrivals) => Some(arrivals.clone()),
            Asked::Closed => None,
        };
        Self {
            programs: trial.programs,
            answers: Vec::with_capacity(arrivals.as_ref().map_or(0, |it| it.len())),
            arrivals,
            taken_in: 0,
            messages: trial.messages.clone(),
            lines: (0..connections).map(|_| Line::default()).collect(),
            out: Outgoing::new(connections),
            all: (0..connections).fold(Sockets::NONE, Sockets::and),
            readable: Sockets::NONE,
            doing: Doing::Waiting,
        }
    }

    /// Returns the sockets that it waits on.
    pub(super) fn sockets(&self) -> Sockets {
        self.all
    }

    /// Returns the requests that were answered, in the order of their answers.
    pub(super) fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Returns when the requests came that were due by `now` and are not answered.
    pub(super) fn unanswered(&self, now: Instant) -> Vec<Duration> {
        let of_line = |line: &Line| -> Vec<Duration> {
            let sent = line.under_way.iter().map(|(at, _)| *at);
            let all = sent.chain(line.waiting.iter().copied());
            all.map(since_start).collect()
        };
        let not_taken_in = self
            .arrivals
            .iter()
            .flat_map(|arrivals| &arrivals[self.taken_in..]);
        let due = not_taken_in
            .map(|arrival| arrival.at)
            .filter(|at| Instant::ZERO + *at <= now);
        self.lines.iter().flat_map(of_line).chain(due).collect()
    }

    pub(super) fn next(&mut self, now: Instant, last: CallOutcome) -> Call {
        match (self.doing, last) {
            (Doing::Reading(socket), CallOutcome::Read(octets)) => {
                let answered = self.read(now, socket, octets);
                if answered > 0 && self.programs.digest > Duration::ZERO {
                    self.doing = Doing::Computing;
                    return Call::Compute(self.programs.digest.times(answered));
                }
            }
            (Doing::Writing(socket), CallOutcome::Wrote(octets)) => self.out.wrote(socket, octets),
            (_, CallOutcome::Ready { read, write }) => {
                self.readable = read;
                self.out.have_space(write);
            }
            _ => {}
        }
        self.take_in_arrivals(now);
        if let Some((socket, len)) = self.out.next() {
            self.doing = Doing::Writing(socket);
            return Call::TryWrite { socket, len };
        }
        if let Some(socket) = self.readable.iter().next() {
            self.readable = self.readable.without(socket);
            self.doing = Doing::Reading(socket);
            return Call::Read { socket, max: READ };
        }
        self.wait(now)
    }

    /// Sleeps until an answer or the next arrival comes. Ends the run when all requests of an open loop are answered.
    fn wait(&mut self, now: Instant) -> Call {
        self.doing = Doing::Waiting;
        let next = self
            .arrivals
            .as_ref()
            .map(|arrivals| arrivals.get(self.taken_in));
        let timeout = match next {
            Some(Some(arrival)) => Some((Instant::ZERO + arrival.at).since(now)),
            Some(None) if self.lines.iter().all(|line| line.under_way.is_empty()) => {
                return Call::Stop;
            }
            _ => None,
        };
        Call::Poll {
            read: self.all,
            write: self.out.full(),
            timeout,
        }
    }

    /// Takes in the requests that are due, and sends those that may be sent.
    fn take_in_arrivals(&mut self, now: Instant) {
        let Some(arrivals) = self.arrivals.clone() else {
            return self.keep_closed_loop_full(now);
        };
        while let Some(arrival) = arrivals.get(self.taken_in)
            && Instant::ZERO + arrival.at <= now
        {
            self.taken_in += 1;
            let line = &mut self.lines[arrival.connection as usize];
            line.waiting.push_back(Instant::ZERO + arrival.at);
            self.send(arrival.connection);
        }
    }

    fn keep_closed_loop_full(&mut self, now: Instant) {
        for connection in 0..self.programs.connections {
            let line = &mut self.lines[connection as usize];
            let free = (self.programs.depth as usize).saturating_sub(line.under_way.len());
            line.waiting.extend((0..free).map(|_| now));
            self.send(connection);
        }
    }

    /// Sends a connection's requests that wait, as far as its depth allows.
    fn send(&mut self, connection: u32) {
        let line = &mut self.lines[connection as usize];
        while line.under_way.len() < self.programs.depth.max(1) as usize
            && let Some(at) = line.waiting.pop_front()
        {
            let Message { request, answer } =
                message(&self.messages[connection as usize], line.sent);
            line.sent += 1;
            line.under_way.push_back((at, answer.into()));
            let writes = self.programs.request_writes;
            self.out.push(connection, request.into(), writes);
        }
    }

    /// Counts octets of answers that were read; returns how many answers they completed.
    fn read(&mut self, now: Instant, connection: u32, mut octets: u64) -> u64 {
        let line = &mut self.lines[connection as usize];
        let before = self.answers.len();
        while octets > 0
            && let Some((at, missing)) = line.under_way.front_mut()
        {
            let own = octets.min(*missing);
            *missing -= own;
            octets -= own;
            if *missing == 0 {
                self.answers.push(Answer {
                    asked_at: since_start(*at),
                    took: now.since(*at),
                });
                line.under_way.pop_front();
            }
        }
        self.send(connection);
        (self.answers.len() - before) as u64
    }
}

fn since_start(at: Instant) -> Duration {
    at.since(Instant::ZERO)
}
