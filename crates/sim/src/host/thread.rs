//! Threads: what each waits for, and what it does when it gets the processor.

use tinygram_engine::{Duration, Events, Instant};

use super::reading::Reading;
use crate::program::{Call, CallOutcome, Sockets};

/// A thread of a program.
#[derive(Clone, Debug)]
pub(crate) struct Thread<P> {
    pub(crate) program: P,
    /// Its number on the host.
    pub(super) number: usize,
    /// The time since when, or from when on, it wants the processor; `FAR_FUTURE` if only news or
    /// the end of its job will change that.
    pub(super) wants_at: Instant,
    /// What it does once it has the processor.
    pub(super) then: Then,
    /// Its work while it has the processor.
    pub(super) work: Work,
    /// The sockets it wrote to since it last slept.
    pub(super) wrote: Sockets,
    /// The unpaid cost of entering the call in which it sleeps.
    pub(super) owes: Duration,
    sleep: Sleep,
}

/// The state of a thread's sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    /// It is awake.
    None,
    /// It sleeps until news or the clock wakes it.
    Deep,
    /// There was news, and it wants the processor.
    Over,
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// Ask its program for the next call.
    Fetch(CallOutcome),
    /// Check what it waited for.
    Look(Wait),
    /// Continue with a read that a timer interrupted, or that more octets came for.
    Rest(Reading),
    /// Copy the next piece of its write.
    Piece(Writing),
}

/// A write in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writing {
    pub(crate) socket: u32,
    /// The octets of the whole write.
    pub(crate) len: u64,
    /// Whether it has MSG_MORE.
    pub(crate) more: bool,
}

/// A piece of a thread's work, which takes effect when its time is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Getting back on the processor.
    Wake,
    /// Taking octets out of the receive buffer.
    Take(Reading),
    /// Copying a piece into the send buffer.
    Put(Writing),
    /// A call that asks something of a connection and does not wait for it.
    Ask(Call),
    /// Work whose outcome is known.
    Finish(CallOutcome),
}

impl Work {
    /// Returns whether it is a system call working on a socket, which a kernel that locks sockets
    /// has locked.
    #[inline]
    pub(super) fn locks_socket(&self) -> bool {
        match self {
            Self::Take(_) | Self::Put(_) | Self::Ask(_) => true,
            Self::Wake | Self::Finish(_) => false,
        }
    }
}

/// What a thread can wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    Read {
        socket: u32,
        max: u64,
    },
    Space(Writing),
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
    pub(super) fn new(number: usize, program: P) -> Self {
        Self {
            program,
            number,
            wants_at: Instant::ZERO,
            then: Then::Fetch(CallOutcome::Started),
            work: Work::Wake,
            wrote: Sockets::NONE,
            owes: Duration::ZERO,
            sleep: Sleep::None,
        }
    }

    /// Returns when it next wants the processor.
    #[inline]
    pub(super) fn wants_at(&self) -> Instant {
        self.wants_at
    }

    /// Records that it gets the processor. Returns whether it slept until now.
    #[inline]
    pub(super) fn gets_processor(&mut self) -> bool {
        self.wants_at = Instant::FAR_FUTURE;
        std::mem::replace(&mut self.sleep, Sleep::None) != Sleep::None
    }

    /// Records that it wants the processor from `at` on, for `then`.
    #[inline]
    pub(super) fn will(&mut self, at: Instant, then: Then) {
        self.wants_at = at;
        self.then = then;
    }

    /// Puts it to sleep until there is news, or until the clock wakes it.
    #[inline]
    pub(super) fn sleeps(&mut self, on: Wait) {
        self.sleep = Sleep::Deep;
        self.will(on.until(), Then::Look(on));
    }

    /// Wakes it if `news` of `socket` is what it waits for.
    #[inline]
    pub(super) fn hear(&mut self, socket: u32, news: Events, now: Instant) {
        if self.sleep == Sleep::Deep
            && let Then::Look(on) = &self.then
            && on.answered_by(socket, news)
        {
            self.sleep = Sleep::Over;
            self.wants_at = now;
        }
    }
}

impl Wait {
    /// Returns when the wait ends, whatever the news.
    #[inline]
    fn until(&self) -> Instant {
        match *self {
            Self::Ready { until, .. } | Self::Clock { until } | Self::Renewal { until, .. } => {
                until
            }
            Self::Read { .. } | Self::Space(_) | Self::Open(_) => Instant::FAR_FUTURE,
        }
    }

    #[inline]
    fn answered_by(&self, socket: u32, news: Events) -> bool {
        const OVER: Events = Events::RESET.with(Events::TIMED_OUT).with(Events::CLOSED);
        let readable = news.any(OVER.with(Events::READABLE).with(Events::PEER_CLOSED));
        let writable = news.any(OVER.with(Events::WRITABLE));
        match *self {
            Self::Read { socket: own, .. } => own == socket && readable,
            Self::Space(writing) => writing.socket == socket && writable,
            Self::Ready { read, write, .. } => {
                (read.has(socket) && readable) || (write.has(socket) && writable)
            }
            Self::Open(own) => own == socket && news.any(OVER.with(Events::CONNECTED)),
            Self::Renewal { .. } | Self::Clock { .. } => false,
        }
    }
}
