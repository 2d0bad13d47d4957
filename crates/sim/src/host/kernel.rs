//! What the threads of a host share: its processor, its random numbers and its sockets.

use tinygram_engine::{Connection, Duration, Instant, Outbox, State as Tcp};

use super::{Leaving, Socket};
use crate::costs::{ComesIn, HostCosts};
use crate::dice::Dice;
use crate::program::Sockets;

/// The processor and the sockets.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) processor: Processor,
    pub(crate) sockets: Vec<Socket>,
    /// Segments that the engine has produced and the device does not have yet.
    pub(crate) outbox: Outbox,
    /// The sockets that those segments belong to.
    pub(crate) leaving: Vec<Leaving>,
    /// The socket of which a call brought news, for which other threads may wait.
    pub(super) news_of: Option<u32>,
    /// Whether a connection was called since the timers were last looked up.
    pub(crate) asked: bool,
    /// The earliest timer of all sockets, as last looked up.
    next_timer: Instant,
}

/// The thread that has the processor, and the costs of work there.
#[derive(Clone, Debug)]
pub(crate) struct Processor {
    pub(crate) costs: HostCosts,
    dice: Dice,
    /// The time until which the kernel works for the network; nothing interrupts that.
    pub(crate) free_at: Instant,
    /// How long it has worked, in nanoseconds, of which 64 bits hold 584 years.
    worked_ns: u64,
    /// The thread at work.
    pub(super) running: Option<Running>,
}

/// A thread that has the processor. Work of the kernel for the network postpones its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// Its number.
    pub(super) thread: usize,
    /// When its work is done.
    pub(super) until: Instant,
    /// Whether frames and timers wait until then.
    pub(super) is_left_alone: bool,
}

impl Processor {
    /// Returns how long work takes whose nominal cost is `cost`.
    #[inline]
    fn time_for(&mut self, cost: Duration) -> Duration {
        self.dice.jitter(cost, self.costs.jitter_percent)
    }

    /// Lets the kernel work for the network for about `cost` from `free_at` on, without
    /// interruption. The running thread is postponed by as much. Returns the time when the work is
    /// done.
    ///
    /// Nobody sees the host until then: the other host meets it only over the medium, and what
    /// leaves carries the time of its leaving. So the work takes effect at once, dated to its end.
    #[inline]
    pub(crate) fn occupy(&mut self, cost: Duration) -> Instant {
        let time = self.time_for(cost);
        self.free_at += time;
        self.worked_ns += time.as_nanos();
        if let Some(running) = &mut self.running {
            running.until += time;
        }
        self.free_at
    }

    /// Returns how long it has worked since the run began, or will have when its present job is done.
    pub(super) fn worked(&self) -> Duration {
        Duration::from_nanos(self.worked_ns)
    }

    /// Gives the thread with this number the processor for about `cost`, with or without a socket's
    /// lock. Returns whether that takes any time.
    ///
    /// Not inlined, so that its callers can be, with the kind of work known to them.
    #[inline(never)]
    pub(super) fn runs(
        &mut self,
        now: Instant,
        thread: usize,
        cost: Duration,
        locks_socket: bool,
    ) -> bool {
        let time = self.time_for(cost);
        if time == Duration::ZERO {
            return false;
        }
        self.worked_ns += time.as_nanos();
        let until = now + time;
        let is_left_alone = match self.costs.comes_in {
            ComesIn::FramesAndTimers => false,
            ComesIn::Timers => true,
            ComesIn::Nothing => locks_socket,
        };
        self.running = Some(Running {
            thread,
            until,
            is_left_alone,
        });
        true
    }

    /// Returns whether frames and timers wait for the end of the thread's present work.
    #[inline]
    pub(super) fn is_left_alone(&self) -> bool {
        self.running.is_some_and(|running| running.is_left_alone)
    }

    /// Returns the cost of putting a thread back on the processor now.
    #[inline]
    pub(super) fn wakeup_cost(&mut self) -> Duration {
        let hiccup = match self.costs.hiccup {
            Some(hiccup) if self.dice.below(1_000_000) < hiccup.per_million => hiccup.length,
            _ => Duration::ZERO,
        };
        self.costs.wakeup + hiccup
    }
}

impl Kernel {
    pub(super) fn new(costs: HostCosts, dice: Dice) -> Self {
        Self {
            processor: Processor {
                costs,
                dice,
                free_at: Instant::ZERO,
                worked_ns: 0,
                running: None,
            },
            sockets: Vec::new(),
            outbox: Outbox::new(),
            leaving: Vec::new(),
            news_of: None,
            asked: false,
            next_timer: Instant::FAR_FUTURE,
        }
    }

    /// Returns a connection.
    #[inline]
    pub(super) fn connection(&mut self, socket: u32) -> &mut Connection {
        &mut self.sockets[socket as usize].connection
    }

    /// Calls a connection, which may change its timers. What it sends is recorded under its
    /// socket's number.
    #[inline]
    pub(super) fn ask<R>(
        &mut self,
        socket: u32,
        call: impl FnOnce(&mut Connection, &mut Outbox) -> R,
    ) -> R {
        self.asked = true;
        self.call(socket, call)
    }

    /// Tells a connection something about which most have nothing to decide; `call` returns whether
    /// this one had.
    #[inline]
    pub(super) fn tell(
        &mut self,
        socket: u32,
        call: impl FnOnce(&mut Connection, &mut Outbox) -> bool,
    ) {
        self.asked |= self.call(socket, call);
    }

    #[inline]
    fn call<R>(&mut self, socket: u32, call: impl FnOnce(&mut Connection, &mut Outbox) -> R) -> R {
        let Socket {
            connection,
            generation,
            ..
        } = &mut self.sockets[socket as usize];
        let before = self.outbox.segments.len();
        let answer = call(connection, &mut self.outbox);
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

    /// Returns the earliest timer of all sockets.
    #[inline]
    pub(super) fn next_timer(&mut self) -> Instant {
        if self.asked {
            self.look_up_timers();
        }
        self.next_timer
    }

    #[inline(never)]
    fn look_up_timers(&mut self) {
        let wakeup = |socket: &Socket| socket.connection.next_wakeup();
        let next = match &self.sockets[..] {
            [only] => wakeup(only),
            all => all.iter().filter_map(wakeup).min(),
        };
        self.next_timer = next.unwrap_or(Instant::FAR_FUTURE);
        self.asked = false;
    }

    /// Returns which of these sockets can be read, and which can be written.
    pub(super) fn ready(&self, read: Sockets, write: Sockets) -> (Sockets, Sockets) {
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
}
