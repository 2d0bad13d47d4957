//! Threads: what each waits for, and what it does when it gets the processor.

use tinygram_engine::{Duration, Events, Instant};

use super::reading::Reading;
use crate::program::{Outcome, Sockets};

/// A thread of a program.
#[derive(Clone, Debug)]
pub(crate) struct Thread<P> {
    pub(crate) program: P,
    /// Since when, or from when on, it wants the processor; `FAR_FUTURE` if only news or the end of
    /// its job will make it want it.
    wants_at: Instant,
    /// What it does once it has got it.
    then: Then,
    /// The sockets it wrote to since it last slept.
    pub(crate) wrote: Sockets,
    /// What entering the call it sleeps in costs.
    pub(crate) owes: Duration,
    asleep: bool,
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
    /// It goes on with a read that a timer came into.
    Rest(Reading),
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
        Self {
            program,
            wants_at: Instant::ZERO,
            then: Then::Fetch(Outcome::Started),
            wrote: Sockets::NONE,
            owes: Duration::ZERO,
            asleep: false,
        }
    }

    /// When it next wants the processor.
    #[inline]
    pub(crate) fn wants_at(&self) -> Instant {
        self.wants_at
    }

    /// It gets the processor: what it does.
    #[inline]
    pub(crate) fn run(&mut self) -> Then {
        self.wants_at = Instant::FAR_FUTURE;
        self.asleep = false;
        self.then
    }

    /// It is being woken: what it does next.
    #[inline]
    pub(crate) fn woken(&mut self, on: Wait) {
        self.then = match on {
            Wait::Clock { .. } => Then::Fetch(Outcome::Done),
            on => Then::Look(on),
        };
    }

    /// It wants the processor, for what it already knows.
    #[inline]
    pub(crate) fn wants_now(&mut self, now: Instant) {
        self.wants_at = now;
    }

    /// It wants the processor from `at` on, for `then`.
    #[inline]
    pub(crate) fn will(&mut self, at: Instant, then: Then) {
        self.wants_at = at;
        self.then = then;
    }

    /// It sleeps until there is news, or until `until`.
    #[inline]
    pub(crate) fn sleep(&mut self, on: Wait, until: Instant) {
        self.asleep = true;
        self.will(until, Then::Woken(on));
    }

    /// Wakes it if `news` of `socket` is what it waits for.
    #[inline]
    pub(crate) fn hear(&mut self, socket: u32, news: Events, now: Instant) {
        if let Then::Woken(on) = &self.then
            && self.asleep
            && on.answered_by(socket, news)
        {
            self.asleep = false;
            self.wants_at = now;
        }
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
