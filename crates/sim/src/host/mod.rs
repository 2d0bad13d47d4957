//! A host: one processor, sockets and threads.
//!
//! The processor does one thing at a time. What comes in from the network goes first, then timers,
//! then threads in the order in which they became ready. A thread at work is interrupted by the
//! first two and ends later by as much; threads do not interrupt each other.
//!
//! That is BSD's way. User code, and copying between user and kernel, run at `spl0` (`uiomove` in
//! `sosend` and `soreceive`); receive interrupts (`splimp`), the protocol's input (`ipintr` at
//! `splnet`) and timers (`softclock`, then `splnet`) come in between. What touches a connection runs
//! at `splnet` and is never interrupted by them: the check for space and PRU_SEND, with `sbappend` and
//! `tcp_output`, and PRU_RCVD after the copying (4.4BSD: `kern/uipc_socket.c`, `netinet/tcp_usrreq.c`;
//! McKusick et al., The Design and Implementation of the 4.4BSD Operating System, sections 3.3 and
//! 12.2). So a job's time can be interrupted, its effect at the end, with the segments that leave, can
//! not.
//!
//! Linux differs: while a system call has locked a socket, segments for it wait in the socket's backlog
//! and its timers are put off ([`ComesIn`](crate::costs::ComesIn)).

mod job;
mod reading;
mod thread;

use tinygram_engine::connection::Config;
use tinygram_engine::sender::Counters;
use tinygram_engine::{Connection, Instant, Outbox};

use crate::costs::HostCosts;
use crate::dice::Dice;
use crate::program::Program;
use job::Running;
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
    /// Until when the kernel is at work for the network; nothing comes in between.
    pub(crate) free_at: Instant,
    /// The thread at work.
    running: Option<Running>,
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
            running: None,
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

    /// When the first timer wants the processor, or a thread to begin or to end its work.
    #[inline]
    pub(crate) fn next_own(&mut self) -> Instant {
        if std::mem::take(&mut self.asked) {
            let wakeups = self
                .sockets
                .iter()
                .filter_map(|socket| socket.connection.next_wakeup());
            self.next_timer = wakeups.min().unwrap_or(Instant::FAR_FUTURE);
        }
        match &self.running {
            Some(running) if running.timers_wait => return running.until,
            Some(running) => return self.next_timer.min(running.until),
            None => {}
        }
        let ready = self.threads.iter().map(Thread::wants_at);
        self.next_thread = ready.min().unwrap_or(Instant::FAR_FUTURE);
        self.next_timer.min(self.next_thread)
    }
}
