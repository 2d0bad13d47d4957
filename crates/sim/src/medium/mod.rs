//! What lies between the two hosts: a medium that carries frames, and what may befall them on it.

mod ethernet;
mod fddi;
mod impairment;
mod point_to_point;

use std::collections::VecDeque;

use tinygram_engine::{Duration, Instant, Segment};

pub use ethernet::Ethernet;
pub use fddi::Fddi;
pub use impairment::{Impairment, ImpairmentRules};
pub use point_to_point::PointToPoint;

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Host 0: the client, as a rule.
    Client,
    /// Host 1: the server, as a rule.
    Server,
}

impl Side {
    /// Its place in arrays of two.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    #[must_use]
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Both.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];
}

/// A segment on its way, with the socket it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// When it is ready to leave, or when it arrives.
    pub at: Instant,
    /// The socket's number; the same at both ends.
    pub socket: u32,
    /// Which life of that socket it belongs to.
    pub generation: u32,
    /// What it carries.
    pub segment: Segment,
}

/// A physical medium's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Bits per second.
    pub bits_per_second: u64,
    /// Octets around a TCP segment's data: TCP, IP and link headers, trailer, preamble, gap.
    pub overhead: u64,
    /// The least that a frame takes, in octets, gap and preamble included.
    pub least: u64,
    /// From one host to the other.
    pub propagation: Duration,
}

impl Wire {
    /// How long a segment with `len` octets of data occupies the medium.
    #[must_use]
    #[inline]
    pub fn occupies(&self, len: u32) -> Duration {
        let octets = (u64::from(len) + self.overhead).max(self.least);
        Duration::from_nanos(octets * 8_000_000_000 / self.bits_per_second)
    }
}

/// The media, one file each.
#[derive(Clone, Debug)]
pub enum Medium {
    /// Half duplex with collisions.
    Ethernet(Ethernet),
    /// A token ring.
    Fddi(Fddi),
    /// Full duplex.
    PointToPoint(PointToPoint),
}

/// Where arriving frames go: one queue per host, ordered by time of arrival.
pub type Arrivals = [VecDeque<Frame>; 2];

impl Medium {
    /// `frame` is ready to leave at `frame.at`, no earlier than any frame before it.
    #[inline]
    pub fn enqueue(&mut self, from: Side, frame: Frame, carried: &mut Carried) {
        match self {
            Self::Ethernet(medium) => medium.enqueue(from, frame),
            Self::Fddi(medium) => medium.enqueue(from, frame),
            Self::PointToPoint(medium) => medium.enqueue(from, frame, carried),
        }
    }

    /// When something happens on the medium; `FAR_FUTURE` if nothing is under way.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Instant {
        match self {
            Self::Ethernet(medium) => medium.next_event(),
            Self::Fddi(medium) => medium.next_event(),
            Self::PointToPoint(_) => Instant::FAR_FUTURE,
        }
    }

    /// Lets happen what is due at `now`.
    #[inline]
    pub fn run(&mut self, now: Instant, carried: &mut Carried) {
        match self {
            Self::Ethernet(medium) => medium.run(now, carried),
            Self::Fddi(medium) => medium.run(now, carried),
            Self::PointToPoint(_) => {}
        }
    }

    /// The physical numbers.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        match self {
            Self::Ethernet(medium) => medium.wire(),
            Self::Fddi(medium) => medium.wire(),
            Self::PointToPoint(medium) => medium.wire(),
        }
    }

    /// Whether frames of this side wait to be sent after `now`.
    #[must_use]
    pub fn backlog(&self, side: Side, now: Instant) -> bool {
        match self {
            Self::Ethernet(medium) => medium.backlog(side),
            Self::Fddi(medium) => medium.backlog(side),
            Self::PointToPoint(medium) => medium.backlog(side, now),
        }
    }
}

/// What the medium has carried: the arrivals, after whatever befell them.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Frames by receiving host.
    pub arrivals: Arrivals,
    /// Frames that never arrive.
    pub lost: u64,
    impairment: Option<Impairment>,
}

impl Carried {
    /// Nothing carried yet.
    #[must_use]
    pub fn new(impairment: Option<Impairment>) -> Self {
        Self {
            arrivals: [VecDeque::new(), VecDeque::new()],
            lost: 0,
            impairment,
        }
    }

    /// When the next frame arrives at this host.
    #[inline]
    #[must_use]
    pub fn next_arrival(&self, side: Side) -> Option<Instant> {
        self.arrivals[side.index()].front().map(|frame| frame.at)
    }

    /// Whether a frame may arrive before one that is already on its way.
    #[inline]
    #[must_use]
    pub fn overtakes(&self) -> bool {
        self.impairment.is_some()
    }

    /// `frame` comes out of the medium at `frame.at`.
    #[inline]
    pub fn deliver(&mut self, to: Side, frame: Frame) {
        match &mut self.impairment {
            None => self.arrivals[to.index()].push_back(frame),
            Some(impairment) => {
                let fate = impairment.befall(frame);
                self.lost += u64::from(fate.frames().is_empty());
                for frame in fate.frames() {
                    insert_by_time(&mut self.arrivals[to.index()], *frame);
                }
            }
        }
    }
}

/// Keeps the queue ordered; frames that arrive at the same time keep their order.
fn insert_by_time(queue: &mut VecDeque<Frame>, frame: Frame) {
    let place = queue.partition_point(|other| other.at <= frame.at);
    queue.insert(place, frame);
}
