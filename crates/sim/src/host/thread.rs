//! Threads: what each waits for, and what it does when it gets the processor.

use tinygram_engine::{Events, Instant};

use crate::program::{Outcome, Sockets};

/// A thread of a program.
#[derive(Clone, Debug)]
pub(crate) struct Thread<P> {
    pub(crate) program: P,
    pub(crate) state: State,
    /// The sockets it wrote to since it last slept.
    pub(crate) wrote: Sockets,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// Wants the processor since `at` (or from then on).
    Ready { at: Instant, then: Then },
    /// Has the processor, or what it asked for is being done.
    Running,
    /// Waits for something, or for `until`.
    Asleep { on: Wait, until: Instant },
    /// Has ended.
    Exited,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// Its program is asked.
    Fetch(Outcome),
    /// It has been woken; once it runs, it looks again at what it waited for.
    Woken(Wait),
    /// It looks at what it waited for.
    Look(Wait),
    /// It copies the next piece of its write.
    Piece { socket: u32, len: u64, more: bool },
}

/// What a thread can wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    Read {
        socket: u32,
        max: u64,
    },
    Space {
        socket: u32,
        len: u64,
        more: bool,
    },
    Ready {
        read: Sockets,
        write: Sockets,
        until: Instant,
    },
    Open(u32),
    Renewal {
        socket: u32,
        until: Instant,
    },
    Clock {
        until: Instant,
    },
}

impl<P> Thread<P> {
    pub(crate) fn new(program: P) -> Self {
        let state = State::Ready {
            at: Instant::ZERO,
            then: Then::Fetch(Outcome::Started),
        };
        Self {
            program,
            state,
            wrote: Sockets::NONE,
        }
    }

    /// When it next wants the processor.
    #[inline]
    pub(crate) fn ready_at(&self) -> Instant {
        match self.state {
            State::Ready { at, .. } => at,
            State::Asleep { until, .. } => until,
            State::Running | State::Exited => Instant::FAR_FUTURE,
        }
    }

    /// Wakes it if `news` of `socket` is what it waits for. Gives whether it does.
    #[inline]
    pub(crate) fn hear(&mut self, socket: u32, news: Events, now: Instant) -> bool {
        let State::Asleep { on, .. } = self.state else {
            return false;
        };
        if on.answered_by(socket, news) {
            self.state = State::Ready {
                at: now,
                then: Then::Woken(on),
            };
            return true;
        }
        false
    }
}

impl Wait {
    #[inline]
    fn answered_by(&self, socket: u32, news: Events) -> bool {
        let over =
            news.has(Events::RESET) || news.has(Events::TIMED_OUT) || news.has(Events::CLOSED);
        let readable = news.has(Events::READABLE) || news.has(Events::PEER_CLOSED) || over;
        let writable = news.has(Events::WRITABLE) || over;
        match *self {
            Self::Read { socket: own, .. } => own == socket && readable,
            Self::Space { socket: own, .. } => own == socket && writable,
            Self::Ready { read, write, .. } => {
                (read.has(socket) && readable) || (write.has(socket) && writable)
            }
            Self::Open(own) => own == socket && (news.has(Events::CONNECTED) || over),
            Self::Renewal { .. } | Self::Clock { .. } => false,
        }
    }
}
