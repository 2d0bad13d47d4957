//! A host: one processor, sockets and threads.
//!
//! The processor does one thing at a time. Arriving frames go first, then timers, then threads in
//! the order in which they became ready. Frames and timers interrupt a working thread, which ends
//! later by as much; threads do not interrupt each other.
//!
//! This is BSD's way. It is described in the sources of 4.4BSD-Lite2, below `sys/`:
//!
//! - A write (`sosend` in `kern/uipc_socket.c`) raises the priority to `splnet` to look for space, lowers
//!   it for the copying (`uiomove`), and raises it again around PRU_SEND, one cluster at a time.
//! - A read (`soreceive`, there too) copies at low priority, "in order to avoid blocking network
//!   interrupts for the entire time here", mbuf by mbuf; it goes back to `splnet` to free each one and
//!   for PRU_RCVD at the end. What came while it copied belongs to the same read. A host without a
//!   `take_unit` frees what it found all at once, when it has copied that.
//! - What these two requests call (`tcp_usrreq` in `netinet/tcp_usrreq.c`, and `tcp_output`) and what
//!   the timers call (`tcp_fasttimo` and `tcp_slowtimo` in `netinet/tcp_timer.c`) runs at `splnet`.
//! - A receive interrupt puts the frame into a queue, which the software interrupt `ipintr`
//!   (`netinet/ip_input.c`) empties; it shuts out the device (`splimp`) while it takes one from there.
//!
//! So frames and timers may interrupt a job's time, but not its effect at the end, including the
//! segments that leave.
//!
//! Linux differs: while a system call has locked a socket, segments for it wait in the socket's
//! backlog and its timers are postponed ([`ComesIn`](crate::costs::ComesIn)).

mod job;
mod kernel;
mod reading;
mod thread;

use tinygram_engine::connection::Config;
use tinygram_engine::sender::Counters;
use tinygram_engine::{Connection, Duration, Events, Instant};

use crate::costs::HostCosts;
use crate::dice::Dice;
use crate::medium::MediumFrame;
use crate::program::Program;
pub(crate) use job::Wish;
use kernel::{Kernel, Running};
use thread::{Thread, Work};

/// One end of a connection in a host.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(crate) connection: Connection,
    pub(crate) config: Config,
    /// How often the connection was replaced.
    pub(crate) generation: u32,
    /// The counts of earlier connections of this socket.
    retired: Counters,
}

impl Socket {
    pub(crate) fn new(config: Config, connection: Connection) -> Self {
        Self {
            connection,
            config,
            generation: 0,
            retired: Counters::default(),
        }
    }

    /// Returns the present connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the counts of all connections of this socket.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.retired.and(self.connection.sender().counters())
    }

    /// Replaces the connection by a fresh one whose peer offers `peer_window` octets.
    pub(crate) fn renew(&mut self, peer_window: u64) {
        self.retired = self.counters();
        self.connection = Connection::established(&self.config, peer_window);
        self.generation += 1;
    }
}

/// The number of segments in the outbox, after those before, that belong to a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) socket: u32,
    /// The generation of that socket to which they belong.
    pub(crate) generation: u32,
    pub(crate) segments: usize,
}

/// A host.
#[derive(Clone, Debug)]
pub struct Host<P> {
    pub(crate) kernel: Kernel,
    threads: Vec<Thread<P>>,
}

impl<P: Program> Host<P> {
    pub(crate) fn new(costs: HostCosts, dice: Dice, programs: Vec<P>) -> Self {
        let threads = programs.into_iter().enumerate();
        Self {
            kernel: Kernel::new(costs, dice),
            threads: threads
                .map(|(number, program)| Thread::new(number, program))
                .collect(),
        }
    }

    /// Returns the sockets, by number.
    #[must_use]
    pub fn sockets(&self) -> &[Socket] {
        &self.kernel.sockets
    }

    /// Returns the programs of its threads.
    pub fn programs(&self) -> impl Iterator<Item = &P> {
        self.threads.iter().map(|thread| &thread.program)
    }

    /// Returns how long the processor has worked since the run began, its present job included.
    #[must_use]
    pub fn worked(&self) -> Duration {
        self.kernel.processor.worked()
    }

    /// Returns when the processor starts or ends something, if the next frame arrives at `arrival`.
    #[inline]
    pub(crate) fn next_job(&mut self, arrival: Instant) -> Instant {
        let timer = self.kernel.next_timer();
        let next = match self.kernel.processor.running {
            Some(Running {
                until,
                is_left_alone: true,
                ..
            }) => until,
            Some(Running { until, .. }) => until.min(timer).min(arrival),
            None => self.next_thread().min(timer).min(arrival),
        };
        // No time is later than the far future.
        next.max(self.kernel.processor.free_at)
    }

    /// Returns whether an arrived frame is taken in before anything else happens.
    #[inline]
    pub(crate) fn lets_frames_in(&self) -> bool {
        !self.kernel.processor.is_left_alone()
    }

    /// Takes in a segment.
    #[inline]
    pub(crate) fn take_in(&mut self, now: Instant, frame: &MediumFrame) {
        self.interrupt(now);
        let processor = &mut self.kernel.processor;
        let done = processor.occupy(processor.costs.input.of(frame.segment.len));
        if self.kernel.sockets[frame.socket as usize].generation == frame.generation {
            self.kernel.ask(frame.socket, |connection, out| {
                connection.on_segment(done, &frame.segment, out);
            });
            self.announce(frame.socket, done);
        }
    }

    /// Ends or starts what is most urgent, if no frame is to be taken in and the processor is
    /// available.
    #[inline]
    pub(crate) fn go_on(&mut self, now: Instant) -> Wish {
        self.kernel.processor.free_at = now;
        let timer = self.kernel.next_timer();
        if timer <= now && !self.kernel.processor.is_left_alone() {
            self.interrupt(now);
            self.run_timers(now);
            return Wish::Nothing;
        }
        if let Some(running) = self.kernel.processor.running.take() {
            self.threads[running.thread].finish(now, &mut self.kernel);
            self.pass_on_news(now);
            // Frames that waited for the end of this come before the thread's next job; leaving
            // segments keep the processor; and a timer may be due at once.
            let others_first = running.is_left_alone || !self.kernel.leaving.is_empty();
            if others_first || self.kernel.next_timer() <= now {
                return Wish::Nothing;
            }
        }
        self.begin(now)
    }

    /// Gives the free processor to the thread that has waited longest; of several, to the one with
    /// the lowest number.
    #[inline]
    fn begin(&mut self, now: Instant) -> Wish {
        let first = match &mut self.threads[..] {
            [only] => Some(only),
            all => all.iter_mut().min_by_key(|thread| thread.wants_at()),
        };
        let Some(first) = first.filter(|thread| thread.wants_at() <= now) else {
            return Wish::Nothing;
        };
        let wish = first.begin(now, &mut self.kernel);
        self.pass_on_news(now);
        wish
    }

    /// Returns when the first thread is ready, or is woken by the clock.
    #[inline]
    fn next_thread(&self) -> Instant {
        match &self.threads[..] {
            [only] => only.wants_at(),
            all => {
                let wishes = all.iter().map(Thread::wants_at);
                wishes.min().unwrap_or(Instant::FAR_FUTURE)
            }
        }
    }

    /// Takes the processor from the running thread, if there is one, for the kernel.
    #[inline]
    fn interrupt(&mut self, now: Instant) {
        self.kernel.processor.free_at = now;
        if self.kernel.processor.costs.take_unit.is_some() {
            self.empty_buffer(now);
        }
    }

    /// Removes from the receive buffer what an interrupted read has taken so far.
    fn empty_buffer(&mut self, now: Instant) {
        let kernel = &mut self.kernel;
        let Some(Running { thread, until, .. }) = kernel.processor.running else {
            return;
        };
        if let Work::Take(reading) = &mut self.threads[thread].work {
            let left = reading.left_after(until.since(now), &kernel.processor.costs);
            let connection = &mut kernel.sockets[reading.socket as usize].connection;
            reading.took(connection.read_part(reading.octets - left));
        }
    }

    #[cold]
    fn run_timers(&mut self, now: Instant) {
        let due = |socket: &Socket| socket.connection.next_wakeup().is_some_and(|at| at <= now);
        if let Some(index) = self.kernel.sockets.iter().position(due) {
            let socket = index as u32;
            self.kernel
                .ask(socket, |connection, out| connection.on_wakeup(now, out));
            self.announce(socket, now);
        }
    }

    /// Passes on the news that a thread's call caused for other threads.
    #[inline]
    fn pass_on_news(&mut self, now: Instant) {
        if let Some(socket) = self.kernel.news_of.take() {
            self.announce(socket, now);
        }
    }

    /// Passes a connection's news to the threads that wait for it.
    #[inline]
    fn announce(&mut self, socket: u32, now: Instant) {
        let news: Events = self.kernel.outbox.take_events();
        if news.is_empty() {
            return;
        }
        match &mut self.threads[..] {
            [only] => only.hear(socket, news, now),
            all => {
                for thread in all {
                    thread.hear(socket, news, now);
                }
            }
        }
    }
}
