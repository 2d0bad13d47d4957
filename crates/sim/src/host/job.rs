//! Jobs: what the processor does, how long it takes, and what comes of it.

use tinygram_engine::sender::send_policy::BlockedOn;
use tinygram_engine::{Connection, Duration, Instant, Outbox, State as Tcp, Wrote};

use super::thread::{State, Then, Wait};
use super::{Host, Socket};
use crate::medium::Frame;
use crate::program::{Call, Outcome, Program, Sockets};

/// What the processor is busy with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Job {
    /// A segment is taken in.
    Input(Frame),
    /// A thread's work.
    Thread(usize, Work),
}

/// A piece of a thread's work; takes effect when its time is over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Back on the processor.
    Wake(Wait),
    /// Takes octets out of the receive buffer.
    Take { socket: u32, octets: u64 },
    /// Finds that it must sleep.
    Sleep(Wait),
    /// Copies a piece into the send buffer.
    Put { socket: u32, len: u64, more: bool },
    /// Something whose outcome is known.
    Finish(Outcome),
}

/// What the world, and not the host alone, must see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    Renew(u32),
    Stop,
}

impl<P: Program> Host<P> {
    /// The processor is free: begins the most urgent job that is there. `input` is the frame that
    /// has arrived, if one has.
    pub(crate) fn begin(&mut self, now: Instant, input: Option<Frame>) -> Wish {
        if let Some(frame) = input {
            let cost = self
                .dice
                .jitter(self.costs.input, self.costs.jitter_percent);
            self.start(now, cost, Job::Input(frame));
            return Wish::Nothing;
        }
        if self.next_timer <= now {
            self.run_timers(now);
            return Wish::Nothing;
        }
        let ready = self
            .threads
            .iter()
            .enumerate()
            .min_by_key(|(_, thread)| thread.ready_at());
        match ready {
            Some((index, thread)) if thread.ready_at() <= now => self.begin_thread(now, index),
            _ => Wish::Nothing,
        }
    }

    fn start(&mut self, now: Instant, cost: Duration, job: Job) {
        self.job = Some(job);
        self.job_done = now + cost;
    }

    fn run_timers(&mut self, now: Instant) {
        self.free_at = now;
        for index in 0..self.sockets.len() {
            if self.sockets[index].connection.next_wakeup() <= now {
                self.ask(index as u32, |connection, out| {
                    connection.on_wakeup(now, out)
                });
                self.announce(index as u32, now);
                return;
            }
        }
    }

    /// The thread gets the processor.
    fn begin_thread(&mut self, now: Instant, index: usize) -> Wish {
        let then = match self.threads[index].state {
            State::Ready { then, .. } => then,
            State::Asleep { on, .. } => Then::Woken(on),
            State::Running | State::Exited => return Wish::Nothing,
        };
        self.threads[index].state = State::Running;
        let (cost, work) = match then {
            Then::Woken(on) => (self.wakeup_cost(), Work::Wake(on)),
            Then::Look(Wait::Renewal { socket, .. }) => {
                self.thread_goes_on(index, now, Outcome::Done);
                return Wish::Renew(socket);
            }
            Then::Look(on) => self.look(now, on),
            Then::Piece { socket, len, more } => self.piece(socket, len, more),
            Then::Fetch(outcome) => {
                let call = self.threads[index].program.next(now, outcome);
                match call {
                    Call::Exit => {
                        self.threads[index].state = State::Exited;
                        self.plan_threads();
                        return Wish::Nothing;
                    }
                    Call::Stop => return Wish::Stop,
                    call => self.begin_call(now, index, call),
                }
            }
        };
        let cost = self.dice.jitter(cost, self.costs.jitter_percent);
        self.plan_threads();
        self.start(now, cost, Job::Thread(index, work));
        Wish::Nothing
    }

    fn wakeup_cost(&mut self) -> Duration {
        let hiccup = match self.costs.hiccup {
            Some(hiccup) if self.dice.below(1_000_000) < hiccup.per_million => hiccup.length,
            _ => Duration::ZERO,
        };
        self.costs.wakeup + hiccup
    }

    /// The cost of entering a call, and the work it leads to.
    fn begin_call(&mut self, now: Instant, index: usize, call: Call) -> (Duration, Work) {
        match call {
            Call::Read { socket, max } => {
                let (cost, work) = self.look(now, Wait::Read { socket, max });
                (self.costs.read + cost, work)
            }
            Call::Write { socket, len, more } => {
                self.threads[index].wrote = self.threads[index].wrote.and(socket);
                if !self.sockets[socket as usize].connection.state().sends() {
                    return (self.costs.write, Work::Finish(Outcome::Gone));
                }
                self.sockets[socket as usize]
                    .connection
                    .write_begin(now, len);
                let (cost, work) = self.piece(socket, len, more);
                (self.costs.write + cost, work)
            }
            Call::TryWrite { socket, len } => {
                self.threads[index].wrote = self.threads[index].wrote.and(socket);
                let wrote = self.ask(socket, |connection, out| {
                    connection.write(now, len, false, out)
                });
                self.announce(socket, now);
                let cost = self.costs.write + self.costs.chunk + self.costs.copying(wrote);
                (cost, Work::Finish(Outcome::Wrote(wrote)))
            }
            Call::Poll {
                read,
                write,
                timeout,
            } => {
                let until = timeout.map_or(Instant::FAR_FUTURE, |timeout| now + timeout);
                let (cost, work) = self.look(now, Wait::Ready { read, write, until });
                (self.costs.read + cost, work)
            }
            Call::Compute(time) => (time, Work::Finish(Outcome::Done)),
            Call::Sleep(time) => (
                Duration::ZERO,
                Work::Sleep(Wait::Clock { until: now + time }),
            ),
            Call::Renew { socket, takes } => (
                Duration::ZERO,
                Work::Sleep(Wait::Renewal {
                    socket,
                    until: now + takes,
                }),
            ),
            Call::Connect(socket) => {
                self.ask(socket, |connection, out| connection.connect(now, out));
                (self.costs.write, Work::Sleep(Wait::Open(socket)))
            }
            Call::Accept(socket) => {
                let connection = &mut self.sockets[socket as usize].connection;
                if connection.state() == Tcp::Closed {
                    connection.listen();
                }
                self.look(now, Wait::Open(socket))
            }
            Call::Close(socket) => {
                self.ask(socket, |connection, out| connection.close(now, out));
                self.announce(socket, now);
                (self.costs.write, Work::Finish(Outcome::Done))
            }
            Call::NoDelay(socket, on) => {
                self.ask(socket, |connection, out| {
                    connection.set_nodelay(now, on, out)
                });
                (self.costs.write, Work::Finish(Outcome::Done))
            }
            Call::Cork(socket, on) => {
                self.ask(socket, |connection, out| connection.set_cork(now, on, out));
                (self.costs.write, Work::Finish(Outcome::Done))
            }
            Call::Exit | Call::Stop => unreachable!("seen to before"),
        }
    }

    /// Is what the thread waits for there?
    fn look(&mut self, now: Instant, on: Wait) -> (Duration, Work) {
        match on {
            Wait::Read { socket, max } => {
                let connection = &mut self.sockets[socket as usize].connection;
                let octets = connection.receiver().readable().min(max);
                let over = connection.receiver().at_end() || !connection.state().synchronised();
                if octets > 0 || over {
                    connection.reader_resumes();
                    (self.costs.copying(octets), Work::Take { socket, octets })
                } else {
                    (Duration::ZERO, Work::Sleep(on))
                }
            }
            Wait::Space { socket, len, more } => {
                self.sockets[socket as usize].connection.write_resume(now);
                self.piece(socket, len, more)
            }
            Wait::Ready { read, write, until } => {
                let ready = self.ready(read, write);
                let none = ready
                    == Outcome::Ready {
                        read: Sockets::NONE,
                        write: Sockets::NONE,
                    };
                if none && now < until {
                    (Duration::ZERO, Work::Sleep(on))
                } else {
                    (Duration::ZERO, Work::Finish(ready))
                }
            }
            Wait::Open(socket) => match self.sockets[socket as usize].connection.state() {
                Tcp::Closed => (Duration::ZERO, Work::Finish(Outcome::Gone)),
                state if state.synchronised() => (Duration::ZERO, Work::Finish(Outcome::Done)),
                _ => (Duration::ZERO, Work::Sleep(on)),
            },
            Wait::Renewal { .. } | Wait::Clock { .. } => {
                (Duration::ZERO, Work::Finish(Outcome::Done))
            }
        }
    }

    fn ready(&self, read: Sockets, write: Sockets) -> Outcome {
        let mut ready = (Sockets::NONE, Sockets::NONE);
        for (number, socket) in (0..).zip(&self.sockets) {
            let connection = &socket.connection;
            let gone = connection.state() == Tcp::Closed;
            let readable = connection.receiver().readable() > 0 || connection.receiver().at_end();
            if read.has(number) && (readable || gone) {
                ready.0 = ready.0.and(number);
            }
            if write.has(number) && (connection.sender().space() > 0 || gone) {
                ready.1 = ready.1.and(number);
            }
        }
        Outcome::Ready {
            read: ready.0,
            write: ready.1,
        }
    }

    /// The next piece of a write, or sleep for space.
    fn piece(&self, socket: u32, len: u64, more: bool) -> (Duration, Work) {
        match self.sockets[socket as usize].connection.peek_write() {
            Some(octets) => (
                self.costs.chunk + self.costs.copying(octets),
                Work::Put { socket, len, more },
            ),
            None => (
                Duration::ZERO,
                Work::Sleep(Wait::Space { socket, len, more }),
            ),
        }
    }

    /// The job's time is over: lets it take effect.
    pub(crate) fn finish(&mut self, now: Instant) {
        self.free_at = now;
        match self.job.take() {
            Some(Job::Input(frame)) => self.finish_input(now, &frame),
            Some(Job::Thread(index, work)) => self.finish_work(now, index, work),
            None => {}
        }
    }

    fn finish_input(&mut self, now: Instant, frame: &Frame) {
        if self.sockets[frame.socket as usize].generation == frame.generation {
            self.ask(frame.socket, |connection, out| {
                connection.on_segment(now, &frame.segment, out)
            });
            self.announce(frame.socket, now);
        }
    }

    /// Calls a connection; what it sends is put down under its socket's number.
    #[inline]
    fn ask<R>(&mut self, socket: u32, call: impl FnOnce(&mut Connection, &mut Outbox) -> R) -> R {
        let Socket {
            connection,
            generation,
            ..
        } = &mut self.sockets[socket as usize];
        let answer = call(connection, &mut self.outbox);
        for segment in self.outbox.segments.drain(..) {
            self.leaving.push(Frame {
                at: Instant::ZERO,
                socket,
                generation: *generation,
                segment,
            });
        }
        answer
    }

    /// Passes a connection's news to the threads that wait for it.
    #[inline]
    fn announce(&mut self, socket: u32, now: Instant) {
        let news = self.outbox.take_events();
        if news.is_empty() {
            return;
        }
        let mut woken = false;
        for thread in &mut self.threads {
            woken |= thread.hear(socket, news, now);
        }
        if woken {
            self.plan_threads();
        }
    }

    fn finish_work(&mut self, now: Instant, index: usize, work: Work) {
        match work {
            Work::Wake(on) => self.thread_does(index, now, Then::Look(on)),
            Work::Finish(outcome) => self.thread_goes_on(index, now, outcome),
            Work::Take { socket, octets } => {
                let octets = self.ask(socket, |connection, out| connection.read(now, octets, out));
                self.thread_goes_on(index, now, Outcome::Read(octets));
            }
            Work::Put { socket, len, more } => {
                match self.ask(socket, |connection, out| {
                    connection.write_step(now, more, out)
                }) {
                    Wrote::Piece(_) => {
                        self.thread_does(index, now, Then::Piece { socket, len, more })
                    }
                    Wrote::Last(_) => self.thread_goes_on(index, now, Outcome::Wrote(len)),
                    Wrote::Sleeps => self.sleep(now, index, Wait::Space { socket, len, more }),
                    Wrote::Refused => self.thread_goes_on(index, now, Outcome::Gone),
                }
            }
            Work::Sleep(on) => self.sleep(now, index, on),
        }
    }

    fn thread_goes_on(&mut self, index: usize, now: Instant, outcome: Outcome) {
        self.thread_does(index, now, Then::Fetch(outcome));
    }

    #[inline]
    fn thread_does(&mut self, index: usize, now: Instant, then: Then) {
        self.threads[index].state = State::Ready { at: now, then };
        self.plan_threads();
    }

    /// The thread sleeps. First every socket it wrote to, and the one it sleeps on, is told.
    fn sleep(&mut self, now: Instant, index: usize, on: Wait) {
        let until = match on {
            Wait::Ready { until, .. } | Wait::Clock { until } | Wait::Renewal { until, .. } => {
                until
            }
            _ => Instant::FAR_FUTURE,
        };
        self.threads[index].state = State::Asleep { on, until };
        self.plan_threads();
        let wrote = std::mem::take(&mut self.threads[index].wrote);
        let own = match on {
            Wait::Read { socket, .. } => Some((socket, BlockedOn::Read)),
            Wait::Space { socket, .. } => Some((socket, BlockedOn::Write)),
            _ => None,
        };
        if let Some((socket, blocked_on)) = own {
            let wrote = wrote.has(socket);
            self.ask(socket, |connection, out| {
                connection.app_blocks(now, blocked_on, wrote, out)
            });
        }
        if !wrote.is_empty() {
            for socket in wrote
                .iter()
                .filter(|socket| own.is_none_or(|(own, _)| own != *socket))
            {
                self.ask(socket, |connection, out| {
                    connection.app_blocks(now, BlockedOn::Elsewhere, true, out);
                });
            }
        }
    }
}
