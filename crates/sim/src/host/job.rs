//! Jobs: what the processor does, how long it takes, and what comes of it.

use tinygram_engine::sender::send_policy::BlockedOn;

use tinygram_engine::{Connection, Duration, Instant, Outbox, State as Tcp, Wrote};

use super::reading::Reading;
use super::thread::{Then, Wait};
use super::{Host, Leaving, Socket};
use crate::costs::ComesIn;
use crate::medium::Frame;
use crate::program::{Call, Outcome, Program, Sockets};

/// A piece of a thread's work; takes effect when its time is over.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Back on the processor.
    Wake,
    /// Takes octets out of the receive buffer.
    Take(Reading),
    /// Copies a piece into the send buffer.
    Put { socket: u32, len: u64, more: bool },
    /// A call that asks something of a connection and does not wait for it.
    Ask(Call),
    /// Something whose outcome is known.
    Finish(Outcome),
}

impl Work {
    /// The socket that a system call at work on it has locked, where the kernel locks it.
    fn socket(self) -> Option<u32> {
        match self {
            Self::Take(Reading { socket, .. })
            | Self::Put { socket, .. }
            | Self::Ask(
                Call::TryWrite { socket, .. }
                | Call::Close(socket)
                | Call::NoDelay(socket, _)
                | Call::Cork(socket, _),
            ) => Some(socket),
            Self::Wake | Self::Ask(_) | Self::Finish(_) => None,
        }
    }
}

/// A thread's work under way. What the kernel does meanwhile for the network puts off its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    thread: usize,
    work: Work,
    /// When it is done.
    pub(super) until: Instant,
    /// Whether frames wait for that.
    frames_wait: bool,
    /// Whether timers do.
    pub(super) timers_wait: bool,
}

/// How a thread goes on.
enum Step {
    /// It keeps the processor busy for so long, and then this comes of it.
    Busy(Duration, Work),
    /// It sleeps at once.
    Sleeps(Wait),
}

/// What the world, and not the host alone, must see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    Renew(u32),
    Stop,
}

impl<P: Program> Host<P> {
    /// The kernel is at work for the network for about `cost` from `free_at` on, and nothing comes in
    /// between; the thread that runs is put off by as much. Gives the time when it is done.
    ///
    /// Until then nobody sees the host: the other one meets it over the medium alone, and what
    /// leaves bears the time of its leaving. So it takes effect at once, dated to its end.
    #[inline]
    pub(crate) fn occupy(&mut self, cost: Duration) -> Instant {
        let cost = self.dice.jitter(cost, self.costs.jitter_percent);
        self.free_at += cost;
        if let Some(running) = &mut self.running {
            running.until += cost;
        }
        self.free_at
    }

    /// A segment is taken in.
    #[inline]
    pub(crate) fn take_in(&mut self, now: Instant, frame: &Frame) {
        self.interrupt(now);
        let done = self.occupy(self.costs.input.of(frame.segment.len));
        if self.sockets[frame.socket as usize].generation == frame.generation {
            self.ask(frame.socket, |connection, out| {
                connection.on_segment(done, &frame.segment, out);
            });
            self.announce(frame.socket, done);
        }
    }

    /// Nothing has arrived and the processor can be had: ends or begins what is most urgent.
    #[inline]
    pub(crate) fn go_on(&mut self, now: Instant) -> Wish {
        self.free_at = now;
        if self.next_timer <= now && !self.lets_end_first(now) {
            self.interrupt(now);
            self.run_timers(now);
            return Wish::Nothing;
        }
        if let Some(Running {
            thread,
            work,
            frames_wait,
            ..
        }) = self.running.take()
        {
            self.finish_work(now, thread, work);
            // Frames that waited for the end of this go before what the thread does next.
            if frames_wait {
                return Wish::Nothing;
            }
            // What leaves keeps the processor; what came of the rest may be due at once.
            if !self.leaving.is_empty() || self.next_own() > now || self.next_timer <= now {
                return Wish::Nothing;
            }
        }
        self.begin(now)
    }

    /// Until when frames wait for the call that is at work on a socket.
    #[inline]
    pub(crate) fn frames_wait_until(&self) -> Instant {
        match &self.running {
            Some(running) if running.frames_wait => running.until,
            _ => Instant::ZERO,
        }
    }

    /// Whether what waited for the end of a call must let it end first.
    #[inline]
    pub(crate) fn lets_end_first(&self, now: Instant) -> bool {
        self.running
            .is_some_and(|running| running.until <= now && running.frames_wait)
    }

    /// The kernel takes the processor from the thread that runs, if one does.
    fn interrupt(&mut self, now: Instant) {
        self.free_at = now;
        if self.costs.take_unit.is_some()
            && let Some(Running {
                work: Work::Take(reading),
                until,
                ..
            }) = &mut self.running
        {
            let left = reading.left_after(until.since(now), &self.costs);
            let connection = &mut self.sockets[reading.socket as usize].connection;
            reading.took(connection.read_part(reading.octets - left));
        }
    }

    /// The processor is free: the thread that has waited longest gets it.
    fn begin(&mut self, now: Instant) -> Wish {
        let first = self.next_thread;
        let ready = self
            .threads
            .iter()
            .position(|thread| thread.wants_at() == first);
        match ready {
            Some(index) if first <= now => self.begin_thread(now, index),
            _ => Wish::Nothing,
        }
    }

    fn run_timers(&mut self, now: Instant) {
        for index in 0..self.sockets.len() {
            let deadline = self.sockets[index].connection.next_wakeup();
            if deadline.is_some_and(|at| at <= now) {
                self.ask(index as u32, |connection, out| {
                    connection.on_wakeup(now, out);
                });
                self.announce(index as u32, now);
                return;
            }
        }
    }

    /// The thread gets the processor.
    fn begin_thread(&mut self, now: Instant, index: usize) -> Wish {
        let then = self.threads[index].run();
        let step = match then {
            Then::Woken(on) => {
                let owed = std::mem::take(&mut self.threads[index].owes);
                self.threads[index].woken(on);
                match owed + self.wakeup_cost() {
                    // A wake-up that costs nothing is no job: nothing can come in between.
                    Duration::ZERO => return self.begin_thread(now, index),
                    cost => Step::Busy(cost, Work::Wake),
                }
            }
            Then::Look(Wait::Renewal { socket, .. }) => {
                self.thread_goes_on(index, now, Outcome::Done);
                return Wish::Renew(socket);
            }
            Then::Look(on) => self.look(now, on),
            Then::Piece { socket, len, more } => self.piece(socket, len, more),
            Then::Rest(reading) => self.take(now, Duration::ZERO, reading),
            Then::Fetch(outcome) => {
                let call = self.threads[index].program.next(now, outcome);
                match call {
                    Call::Exit => return Wish::Nothing,
                    Call::Stop => return Wish::Stop,
                    call => self.begin_call(now, index, call),
                }
            }
        };
        match step {
            Step::Busy(cost, work) => self.run(now, cost, index, work),
            Step::Sleeps(on) => self.sleep(now, index, on),
        }
        Wish::Nothing
    }

    /// The thread is at work for about `cost`.
    fn run(&mut self, now: Instant, cost: Duration, thread: usize, work: Work) {
        let until = now + self.dice.jitter(cost, self.costs.jitter_percent);
        if until == now {
            self.finish_work(now, thread, work);
            return;
        }
        let comes_in = match (self.costs.comes_in, work.socket()) {
            (ComesIn::Nothing, None) => ComesIn::FramesAndTimers,
            (comes_in, _) => comes_in,
        };
        self.running = Some(Running {
            thread,
            work,
            until,
            frames_wait: comes_in != ComesIn::FramesAndTimers,
            timers_wait: comes_in != ComesIn::FramesAndTimers,
        });
    }

    fn wakeup_cost(&mut self) -> Duration {
        let hiccup = match self.costs.hiccup {
            Some(hiccup) if self.dice.below(1_000_000) < hiccup.per_million => hiccup.length,
            _ => Duration::ZERO,
        };
        self.costs.wakeup + hiccup
    }

    /// What a call leads to. What entering it costs is owed until the thread runs on: now, or
    /// once it has slept.
    fn begin_call(&mut self, now: Instant, index: usize, call: Call) -> Step {
        let costs = self.costs;
        let at_once = match call {
            Call::Write { .. } => costs.write_entry,
            _ => Duration::ZERO,
        };
        let (entering, step) = match call {
            Call::Read { socket, max } => (
                costs.read,
                self.look(now + costs.read, Wait::Read { socket, max }),
            ),
            Call::Write { socket, len, more } => {
                self.threads[index].wrote = self.threads[index].wrote.and(socket);
                let connection = &mut self.sockets[socket as usize].connection;
                if connection.state().sends() {
                    connection.write_begin(now, len);
                    (costs.write, self.piece(socket, len, more))
                } else {
                    (costs.write, done(Outcome::Gone))
                }
            }
            Call::TryWrite { socket, len } => {
                self.threads[index].wrote = self.threads[index].wrote.and(socket);
                let space = self.sockets[socket as usize].connection.sender().space();
                let copying = self.costs.chunk + self.costs.copying(len.min(space));
                (costs.write, Step::Busy(copying, Work::Ask(call)))
            }
            Call::Poll {
                read,
                write,
                timeout,
            } => {
                let until = timeout.map_or(Instant::FAR_FUTURE, |timeout| now + timeout);
                let step = self.look(now, Wait::Ready { read, write, until });
                let nothing = Outcome::Ready {
                    read: Sockets::NONE,
                    write: Sockets::NONE,
                };
                if matches!(step, Step::Busy(_, Work::Finish(found)) if found == nothing) {
                    // It asked, found nothing and goes on: a program that sleeps would have slept.
                    self.tell_of_blocking(now, index, None);
                }
                (costs.read, step)
            }
            Call::Compute(time) => (time, done(Outcome::Done)),
            Call::Sleep(time) => (
                Duration::ZERO,
                Step::Sleeps(Wait::Clock { until: now + time }),
            ),
            Call::Renew { socket, takes } => (
                Duration::ZERO,
                Step::Sleeps(Wait::Renewal {
                    socket,
                    until: now + takes,
                }),
            ),
            Call::Connect(socket) => {
                self.ask(socket, |connection, out| connection.connect(now, out));
                (costs.write, Step::Sleeps(Wait::Open(socket)))
            }
            Call::Accept(socket) => {
                let connection = &mut self.sockets[socket as usize].connection;
                if connection.state() == Tcp::Closed {
                    connection.listen();
                }
                (costs.read, self.look(now, Wait::Open(socket)))
            }
            Call::Close(_) | Call::NoDelay(..) | Call::Cork(..) => {
                (costs.write, Step::Busy(Duration::ZERO, Work::Ask(call)))
            }
            Call::Exit | Call::Stop => unreachable!("seen to before"),
        };
        match step {
            Step::Busy(cost, work) => Step::Busy(at_once + entering + cost, work),
            Step::Sleeps(on) => {
                self.occupy(at_once);
                self.threads[index].owes = entering;
                Step::Sleeps(on)
            }
        }
    }

    /// Is what the thread waits for there?
    fn look(&mut self, now: Instant, on: Wait) -> Step {
        match on {
            Wait::Read { socket, max } => {
                let connection = &mut self.sockets[socket as usize].connection;
                let octets = connection.receiver().readable().min(max);
                if octets == 0
                    && !connection.receiver().at_end()
                    && connection.state().synchronised()
                {
                    return Step::Sleeps(on);
                }
                connection.reader_resumes();
                self.take(now, self.costs.take, Reading::of(socket, octets))
            }
            Wait::Space { socket, len, more } => {
                self.sockets[socket as usize].connection.write_resume(now);
                self.piece(socket, len, more)
            }
            Wait::Ready { read, write, until } => match self.ready(read, write) {
                (Sockets::NONE, Sockets::NONE) if now < until => Step::Sleeps(on),
                (read, write) => done(Outcome::Ready { read, write }),
            },
            Wait::Open(socket) => match self.sockets[socket as usize].connection.state() {
                Tcp::Closed => done(Outcome::Gone),
                state if state.synchronised() => done(Outcome::Done),
                _ => Step::Sleeps(on),
            },
            Wait::Renewal { .. } | Wait::Clock { .. } => done(Outcome::Done),
        }
    }

    /// Takes what a read has found, once `first` has passed.
    fn take(&self, now: Instant, first: Duration, reading: Reading) -> Step {
        let connection = &self.sockets[reading.socket as usize].connection;
        let reading = reading.up_to(connection.next_wakeup(), now + first, &self.costs);
        let cost = first + self.costs.copying(reading.octets);
        Step::Busy(cost, Work::Take(reading))
    }

    fn ready(&self, read: Sockets, write: Sockets) -> (Sockets, Sockets) {
        let mut ready = (Sockets::NONE, Sockets::NONE);
        for (number, socket) in (0..).zip(&self.sockets) {
            let connection = &socket.connection;
            let gone = connection.state() == Tcp::Closed;
            let readable = connection.receiver().readable() > 0 || connection.receiver().at_end();
            if read.has(number) && (readable || gone) {
                ready.0 = ready.0.and(number);
            }
            if write.has(number) && (connection.is_writable() || gone) {
                ready.1 = ready.1.and(number);
            }
        }
        ready
    }

    /// The next piece of a write, or sleep for space.
    fn piece(&mut self, socket: u32, len: u64, more: bool) -> Step {
        match self.sockets[socket as usize].connection.next_piece() {
            Some(octets) => {
                let cost = self.costs.chunk + self.costs.copying(octets);
                Step::Busy(cost, Work::Put { socket, len, more })
            }
            None => Step::Sleeps(Wait::Space { socket, len, more }),
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
        let before = self.outbox.segments.len();
        let answer = call(connection, &mut self.outbox);
        self.asked = true;
        let segments = self.outbox.segments.len() - before;
        if segments > 0 {
            self.leaving.push(Leaving {
                socket,
                generation: *generation,
                segments,
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
        for thread in &mut self.threads {
            thread.hear(socket, news, now);
        }
    }

    /// A thread's piece of work is done.
    fn finish_work(&mut self, now: Instant, index: usize, work: Work) {
        match work {
            Work::Wake => self.threads[index].wants_now(now),
            Work::Finish(outcome) => self.thread_goes_on(index, now, outcome),
            Work::Take(reading) if reading.left > 0 => {
                self.ask(reading.socket, |connection, _| {
                    connection.read_part(reading.octets)
                });
                self.thread_does(index, now, Then::Rest(reading.rest()));
            }
            Work::Take(Reading {
                socket,
                taken,
                octets,
                ..
            }) => {
                let octets = self.ask(socket, |connection, out| connection.read(now, octets, out));
                self.thread_goes_on(index, now, Outcome::Read(taken + octets));
            }
            Work::Ask(call) => {
                let outcome = self.asked_for(now, call);
                self.thread_goes_on(index, now, outcome);
            }
            Work::Put { socket, len, more } => {
                match self.ask(socket, |connection, out| {
                    connection.write_step(now, more, out)
                }) {
                    Wrote::Piece(_) => {
                        self.thread_does(index, now, Then::Piece { socket, len, more });
                    }
                    Wrote::Last(_) => self.thread_goes_on(index, now, Outcome::Wrote(len)),
                    Wrote::Sleeps => self.sleep(now, index, Wait::Space { socket, len, more }),
                    Wrote::Refused => self.thread_goes_on(index, now, Outcome::Gone),
                }
            }
        }
    }

    /// A call that asks something of a connection and does not wait for it.
    fn asked_for(&mut self, now: Instant, call: Call) -> Outcome {
        match call {
            Call::TryWrite { socket, len } => {
                return Outcome::Wrote(self.ask(socket, |connection, out| {
                    connection.write(now, len, false, out)
                }));
            }
            Call::Close(socket) => {
                self.ask(socket, |connection, out| connection.close(now, out));
                self.announce(socket, now);
            }
            Call::NoDelay(socket, on) => {
                self.ask(socket, |connection, out| {
                    connection.set_nodelay(now, on, out);
                });
            }
            Call::Cork(socket, on) => {
                self.ask(socket, |connection, out| connection.set_cork(now, on, out));
            }
            _ => unreachable!("no such call"),
        }
        Outcome::Done
    }

    fn thread_goes_on(&mut self, index: usize, now: Instant, outcome: Outcome) {
        self.thread_does(index, now, Then::Fetch(outcome));
    }

    #[inline]
    fn thread_does(&mut self, index: usize, now: Instant, then: Then) {
        self.threads[index].will(now, then);
    }

    /// The thread sleeps. First every socket it wrote to, and the one it sleeps on, is told.
    fn sleep(&mut self, now: Instant, index: usize, on: Wait) {
        let until = match on {
            Wait::Ready { until, .. } | Wait::Clock { until } | Wait::Renewal { until, .. } => {
                until
            }
            _ => Instant::FAR_FUTURE,
        };
        self.threads[index].sleep(on, until);
        let own = match on {
            Wait::Read { socket, .. } => Some((socket, BlockedOn::Read)),
            Wait::Space { socket, .. } => Some((socket, BlockedOn::Write)),
            _ => None,
        };
        self.tell_of_blocking(now, index, own);
    }

    /// Tells the sockets that the thread wrote to, and its `own`, on which it sleeps.
    fn tell_of_blocking(&mut self, now: Instant, index: usize, own: Option<(u32, BlockedOn)>) {
        let wrote = std::mem::take(&mut self.threads[index].wrote);
        if let Some((socket, blocked_on)) = own {
            let wrote = wrote.has(socket);
            self.ask(socket, |connection, out| {
                connection.app_blocks(now, blocked_on, wrote, out);
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

/// Nothing more to do for the call.
const fn done(outcome: Outcome) -> Step {
    Step::Busy(Duration::ZERO, Work::Finish(outcome))
}
