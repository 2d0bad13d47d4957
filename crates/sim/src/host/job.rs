//! Jobs: what a thread does with the processor, how long it takes, and its effect.

use tinygram_engine::sender::send_policy::BlockedOn;
use tinygram_engine::{Duration, Instant, State as Tcp, Wrote};

use super::kernel::Kernel;
use super::reading::Reading;
use super::thread::{Then, Thread, Wait, Work, Writing};
use crate::program::{Call, CallOutcome, Program, Sockets};

/// What a thread demands of the world instead of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    Renew(u32),
    Stop,
}

/// The cost of entering a call.
#[derive(Clone, Copy, Debug)]
struct Entering {
    /// The part that is paid at once, even if the thread then sleeps.
    at_once: Duration,
    /// The part that is paid when the thread continues: now, or after it has slept.
    owed: Duration,
}

impl Entering {
    /// The cost if the thread has entered before.
    const DONE: Self = Self::owed(Duration::ZERO);

    const fn owed(owed: Duration) -> Self {
        Self {
            at_once: Duration::ZERO,
            owed,
        }
    }

    /// Returns the sum of both parts.
    fn all(self) -> Duration {
        self.at_once + self.owed
    }
}

impl<P: Program> Thread<P> {
    /// Starts the thread's next job, now that it has the processor.
    pub(super) fn begin(&mut self, now: Instant, kernel: &mut Kernel) -> Wish {
        if self.gets_processor() {
            let late = self.program.wakes_late(now);
            let cost = std::mem::take(&mut self.owes) + kernel.processor.wakeup_cost() + late;
            // A wake-up that costs nothing is no job: nothing can interrupt it.
            if cost > Duration::ZERO {
                self.works(now, cost, Work::Wake, kernel);
                return Wish::Nothing;
            }
        }
        let last = match self.then {
            Then::Fetch(last) => last,
            Then::Look(Wait::Clock { .. }) => CallOutcome::Done,
            Then::Look(Wait::Renewal { socket, .. }) => {
                self.goes_on(now, CallOutcome::Done);
                return Wish::Renew(socket);
            }
            Then::Look(on) => {
                self.look(now, Entering::DONE, on, kernel);
                return Wish::Nothing;
            }
            Then::Piece(writing) => {
                self.piece(now, Entering::DONE, writing, kernel);
                return Wish::Nothing;
            }
            Then::Rest(reading) => {
                self.take(now, Duration::ZERO, reading, kernel);
                return Wish::Nothing;
            }
        };
        let call = self.program.next(now, last);
        self.call(now, call, kernel)
    }

    /// Lets the thread work for about `cost`.
    #[inline(always)]
    fn works(&mut self, now: Instant, cost: Duration, work: Work, kernel: &mut Kernel) {
        self.work = work;
        let locks_socket = work.locks_socket();
        if !kernel.processor.runs(now, self.number, cost, locks_socket) {
            self.finish(now, kernel);
        }
    }

    /// Ends the job: it takes effect.
    #[inline(always)]
    pub(super) fn finish(&mut self, now: Instant, kernel: &mut Kernel) {
        // A wake-up has no effect on the kernel.
        if let Work::Wake = self.work {
            self.wants_at = now;
        } else {
            self.takes_effect(now, kernel);
        }
    }

    #[inline(never)]
    fn takes_effect(&mut self, now: Instant, kernel: &mut Kernel) {
        match self.work {
            Work::Wake => self.wants_at = now,
            Work::Finish(outcome) => self.goes_on(now, outcome),
            Work::Take(reading) => self.took(now, reading, kernel),
            Work::Put(writing) => {
                let Writing { socket, len, more } = writing;
                match kernel.ask(socket, |connection, out| {
                    connection.write_step(now, more, out)
                }) {
                    Wrote::Piece(_) => self.will(now, Then::Piece(writing)),
                    Wrote::Last(_) => self.goes_on(now, CallOutcome::Wrote(len)),
                    Wrote::Sleeps => self.falls_asleep(now, Wait::Space(writing), kernel),
                    Wrote::Refused => self.goes_on(now, CallOutcome::Gone),
                }
            }
            Work::Ask(call) => {
                let outcome = asked_for(now, call, kernel);
                self.goes_on(now, outcome);
            }
        }
    }

    /// Carries out a call of the program as far as possible.
    fn call(&mut self, now: Instant, call: Call, kernel: &mut Kernel) -> Wish {
        match call {
            Call::Read { socket, max } => {
                let entering = Entering::owed(kernel.processor.costs.read);
                self.read(now, entering, socket, max, kernel);
            }
            Call::Write { socket, len, more } => {
                self.wrote = self.wrote.and(socket);
                let entering = Entering {
                    at_once: kernel.processor.costs.write_entry,
                    owed: kernel.processor.costs.write,
                };
                let connection = kernel.connection(socket);
                if connection.state().sends() {
                    connection.write_begin(now, len);
                    self.piece(now, entering, Writing { socket, len, more }, kernel);
                } else {
                    self.spends(now, entering, CallOutcome::Gone, kernel);
                }
            }
            Call::Exit => {}
            Call::Stop => return Wish::Stop,
            other => self.call_seldom_made(now, other, kernel),
        }
        Wish::Nothing
    }

    fn call_seldom_made(&mut self, now: Instant, call: Call, kernel: &mut Kernel) {
        let costs = kernel.processor.costs;
        let (reading, writing) = (Entering::owed(costs.read), Entering::owed(costs.write));
        match call {
            Call::TryWrite { socket, len } => {
                self.wrote = self.wrote.and(socket);
                let space = kernel.connection(socket).sender().space();
                let copying = costs.chunk + costs.copying(len.min(space));
                self.works(now, costs.write + copying, Work::Ask(call), kernel);
            }
            Call::Poll {
                read,
                write,
                timeout,
            } => {
                let until = timeout.map_or(Instant::FAR_FUTURE, |timeout| now + timeout);
                if now >= until && kernel.ready(read, write) == (Sockets::NONE, Sockets::NONE) {
                    // The program asks, finds nothing and continues: a program that sleeps would
                    // sleep now.
                    self.tell_of_blocking(now, None, kernel);
                }
                self.look(now, reading, Wait::Ready { read, write, until }, kernel);
            }
            Call::Compute(time) => {
                self.spends(now, Entering::owed(time), CallOutcome::Done, kernel);
            }
            Call::Sleep(time) => {
                let until = now + time;
                self.sleep(now, Entering::DONE, Wait::Clock { until }, kernel);
            }
            Call::Renew { socket, takes } => {
                let until = now + takes;
                self.sleep(now, Entering::DONE, Wait::Renewal { socket, until }, kernel);
            }
            Call::Connect(socket) => {
                kernel.ask(socket, |connection, out| connection.connect(now, out));
                self.sleep(now, writing, Wait::Open(socket), kernel);
            }
            Call::Accept(socket) => {
                let connection = kernel.connection(socket);
                if connection.state() == Tcp::Closed {
                    connection.listen();
                }
                self.look(now, reading, Wait::Open(socket), kernel);
            }
            Call::Close(_) | Call::NoDelay(..) | Call::Cork(..) => {
                self.works(now, costs.write, Work::Ask(call), kernel);
            }
            Call::Read { .. } | Call::Write { .. } | Call::Exit | Call::Stop => {
                unreachable!("seen to before")
            }
        }
    }

    /// Checks whether what the thread waits for is there.
    ///
    /// Always inlined: most callers know what it waits for.
    #[inline(always)]
    fn look(&mut self, now: Instant, entering: Entering, on: Wait, kernel: &mut Kernel) {
        match on {
            Wait::Read { socket, max } => self.read(now, entering, socket, max, kernel),
            Wait::Space(writing) => {
                kernel.connection(writing.socket).write_resume(now);
                self.piece(now, entering, writing, kernel);
            }
            Wait::Ready { read, write, until } => match kernel.ready(read, write) {
                (Sockets::NONE, Sockets::NONE) if now < until => {
                    self.sleep(now, entering, on, kernel);
                }
                (read, write) => {
                    self.spends(now, entering, CallOutcome::Ready { read, write }, kernel);
                }
            },
            Wait::Open(socket) => match kernel.connection(socket).state() {
                Tcp::Closed => self.spends(now, entering, CallOutcome::Gone, kernel),
                state if state.synchronised() => {
                    self.spends(now, entering, CallOutcome::Done, kernel);
                }
                _ => self.sleep(now, entering, on, kernel),
            },
            Wait::Renewal { .. } | Wait::Clock { .. } => {
                self.spends(now, entering, CallOutcome::Done, kernel);
            }
        }
    }

    /// Pays only the cost of the call, which needs nothing else.
    fn spends(&mut self, now: Instant, entering: Entering, end: CallOutcome, kernel: &mut Kernel) {
        self.works(now, entering.all(), Work::Finish(end), kernel);
    }

    /// Takes what there is to read, or sleeps until there is something.
    #[inline]
    fn read(
        &mut self,
        now: Instant,
        entering: Entering,
        socket: u32,
        max: u64,
        kernel: &mut Kernel,
    ) {
        let first = entering.owed + kernel.processor.costs.take;
        let connection = kernel.connection(socket);
        let octets = connection.receiver().readable().min(max);
        let nothing = octets == 0 && !connection.receiver().at_end();
        if nothing && connection.state().synchronised() {
            return self.sleep(now, entering, Wait::Read { socket, max }, kernel);
        }
        connection.reader_resumes();
        self.take(now, first, Reading::of(socket, octets, max), kernel);
    }

    /// Takes what a read has found, after `first` has passed.
    #[inline]
    fn take(&mut self, now: Instant, first: Duration, reading: Reading, kernel: &mut Kernel) {
        let reading = match kernel.processor.costs.take_unit {
            None => reading,
            Some(_) => {
                let timer = kernel.connection(reading.socket).next_wakeup();
                reading.up_to(timer, now + first, &kernel.processor.costs)
            }
        };
        let cost = first + kernel.processor.costs.copying(reading.octets);
        self.works(now, cost, Work::Take(reading), kernel);
    }

    /// Takes what a read has copied out of the buffer. The read goes on if it has more to copy.
    #[inline]
    fn took(&mut self, now: Instant, reading: Reading, kernel: &mut Kernel) {
        let readable = kernel.connection(reading.socket).receiver().readable();
        let reading = reading.with_news(readable, &kernel.processor.costs);
        let octets = reading.octets;
        if reading.left > 0 {
            kernel.ask(reading.socket, |connection, _| connection.read_part(octets));
            self.will(now, Then::Rest(reading.rest()));
            return;
        }
        let octets = kernel.ask(reading.socket, |connection, out| {
            connection.read(now, octets, out)
        });
        self.goes_on(now, CallOutcome::Read(reading.taken + octets));
    }

    /// Copies the next piece of a write, or sleeps for space.
    #[inline]
    fn piece(&mut self, now: Instant, entering: Entering, writing: Writing, kernel: &mut Kernel) {
        match kernel.connection(writing.socket).next_piece() {
            Some(octets) => {
                let copying = kernel.processor.costs.chunk + kernel.processor.costs.copying(octets);
                self.works(now, entering.all() + copying, Work::Put(writing), kernel);
            }
            None => self.sleep(now, entering, Wait::Space(writing), kernel),
        }
    }

    #[inline]
    fn goes_on(&mut self, at: Instant, outcome: CallOutcome) {
        self.will(at, Then::Fetch(outcome));
    }

    /// Lets the thread sleep in the call that it has entered.
    #[inline]
    fn sleep(&mut self, now: Instant, entering: Entering, on: Wait, kernel: &mut Kernel) {
        kernel.processor.occupy(entering.at_once);
        self.owes = entering.owed;
        self.falls_asleep(now, on, kernel);
    }

    /// Lets the thread sleep, after telling every socket that it wrote to, and the one it sleeps
    /// on.
    fn falls_asleep(&mut self, now: Instant, on: Wait, kernel: &mut Kernel) {
        self.sleeps(on);
        let own = match on {
            Wait::Read { socket, .. } => Some((socket, BlockedOn::Read)),
            Wait::Space(Writing { socket, .. }) => Some((socket, BlockedOn::Write)),
            _ => None,
        };
        self.tell_of_blocking(now, own, kernel);
    }

    /// Tells the sockets that the thread wrote to, and `own`, the one it sleeps on.
    fn tell_of_blocking(
        &mut self,
        now: Instant,
        own: Option<(u32, BlockedOn)>,
        kernel: &mut Kernel,
    ) {
        let mut wrote = std::mem::take(&mut self.wrote);
        if let Some((socket, blocked_on)) = own {
            let wrote_to_it = wrote.has(socket);
            wrote = wrote.without(socket);
            kernel.tell(socket, |connection, out| {
                connection.app_blocks(now, blocked_on, wrote_to_it, out)
            });
        }
        if wrote.is_empty() {
            return;
        }
        for socket in wrote.iter() {
            kernel.tell(socket, |connection, out| {
                connection.app_blocks(now, BlockedOn::Elsewhere, true, out)
            });
        }
    }
}

/// Carries out a call that asks something of a connection and does not wait for it.
fn asked_for(now: Instant, call: Call, kernel: &mut Kernel) -> CallOutcome {
    match call {
        Call::TryWrite { socket, len } => {
            return CallOutcome::Wrote(kernel.ask(socket, |connection, out| {
                connection.write(now, len, false, out)
            }));
        }
        Call::Close(socket) => {
            kernel.ask(socket, |connection, out| connection.close(now, out));
            kernel.news_of = Some(socket);
        }
        Call::NoDelay(socket, on) => {
            kernel.ask(socket, |connection, out| {
                connection.set_nodelay(now, on, out);
            });
        }
        Call::Cork(socket, on) => {
            kernel.ask(socket, |connection, out| connection.set_cork(now, on, out));
        }
        _ => unreachable!("no such call"),
    }
    CallOutcome::Done
}
