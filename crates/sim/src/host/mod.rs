//! A host: one processor, sockets and threads.
//!
//! The processor does one job at a time and none is interrupted. When it is free, what came in from
//! the network goes first, then timers, then threads in the order in which they became ready.

mod job;
mod reading;
mod thread;

use tinygram_engine::connection::Config;
use tinygram_engine::sender::Counters;
use tinygram_engine::{Connection, Instant, Outbox};

use crate::costs::HostCosts;
use crate::dice::Dice;
use crate::program::Program;
pub(crate) use job::Wish;
pub(crate) use thread::Thread;

/// One end of a connection as a host keeps it.
#[derive(Clone, Debug)]
pub struct Socket {
    pub(crate) connection: Connection,
    pub(crate) config: Config,
    /// How often the connection was renewed.
    pub(crate) generation: u32,
    /// What earlier connections of this socket counted.
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

    /// The connection as it is now.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What all connections of this socket counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.retired.and(self.connection.sender().counters())
    }

    /// A fresh connection whose peer offers `peer_window` octets.
    pub(crate) fn renew(&mut self, peer_window: u64) {
        self.retired = self.counters();
        self.connection = Connection::established(&self.config, peer_window);
        self.generation += 1;
    }
}

/// So many segments of the outbox, behind those before, are a socket's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) socket: u32,
    /// Which life of that socket they belong to.
    pub(crate) generation: u32,
    pub(crate) segments: usize,
}

/// A host.
#[derive(Clone, Debug)]
pub struct Host<P> {
    pub(crate) costs: HostCosts,
    pub(crate) dice: Dice,
    pub(crate) sockets: Vec<Socket>,
    pub(crate) threads: Vec<Thread<P>>,
    /// When the processor is free for the next job.
    pub(crate) free_at: Instant,
    /// The earliest timer of all sockets, as last looked up.
    pub(crate) next_timer: Instant,
    /// When the first thread is ready, or wakes by the clock, as last looked up.
    pub(crate) next_thread: Instant,
    /// Segments that the engine has produced and the device has not got yet.
    pub(crate) outbox: Outbox,
    /// Whose they are.
    pub(crate) leaving: Vec<Leaving>,
    /// A connection was asked something since the timers were last looked up.
    pub(crate) asked: bool,
}

impl<P: Program> Host<P> {
    pub(crate) fn new(costs: HostCosts, dice: Dice, programs: Vec<P>) -> Self {
        let threads: Vec<_> = programs.into_iter().map(Thread::new).collect();
        let next_thread = if threads.is_empty() {
            Instant::FAR_FUTURE
        } else {
            Instant::ZERO
        };
        Self {
            costs,
            dice,
            sockets: Vec::new(),
            threads,
            free_at: Instant::ZERO,
            next_timer: Instant::FAR_FUTURE,
            next_thread,
            outbox: Outbox::new(),
            leaving: Vec::new(),
            asked: false,
        }
    }

    /// The sockets, by number.
    #[must_use]
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }

    /// The programs of its threads.
    pub fn programs(&self) -> impl Iterator<Item = &P> {
        self.threads.iter().map(|thread| &thread.program)
    }

    /// When the first timer or thread wants the processor.
    #[inline]
    pub(crate) fn next_own(&mut self) -> Instant {
        if std::mem::take(&mut self.asked) {
            let wakeups = self
                .sockets
                .iter()
                .filter_map(|socket| socket.connection.next_wakeup());
            self.next_timer = wakeups.min().unwrap_or(Instant::FAR_FUTURE);
        }
        let ready = self.threads.iter().map(Thread::wants_at);
        self.next_thread = ready.min().unwrap_or(Instant::FAR_FUTURE);
        self.next_timer.min(self.next_thread)
    }
}
