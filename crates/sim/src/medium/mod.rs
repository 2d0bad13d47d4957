//! What lies between the two hosts: a medium that carries frames, and what may befall them on it.

mod ethernet;
mod fddi;
mod impairment;
mod kind;
mod point_to_point;

use std::collections::VecDeque;

use tinygram_engine::{Duration, Instant, Segment};

pub use ethernet::Ethernet;
pub use fddi::Fddi;
pub use impairment::{Impairment, ImpairmentRules};
pub use kind::MediumKind;
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
///
/// It is copied from queue to queue with another time in each. The time stands last: a processor waits
/// where it has to read in one piece what was just written in two.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    /// What it carries.
    pub segment: Segment,
    /// The socket's number; the same at both ends.
    pub socket: u32,
    /// Which life of that socket it belongs to.
    pub generation: u32,
    /// When it is ready to leave, or when it arrives.
    pub at: Instant,
}

/// A physical medium's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// A division for each frame would cost more than the rest of its journey over the medium.
    picos_per_octet: u64,
    overhead: u64,
    least: u64,
    /// From one host to the other.
    pub propagation: Duration,
}

impl Wire {
    /// A wire of this rate (at least 1 bit per second), with `overhead` octets around a segment's
    /// data (TCP, IP and link headers, trailer, preamble, gap); no frame takes less than `least`
    /// octets, gap and preamble included.
    #[must_use]
    pub fn new(bits_per_second: u64, overhead: u64, least: u64, propagation: Duration) -> Self {
        let picos_per_octet = 8_000_000_000_000 / bits_per_second.max(1);
        Self {
            picos_per_octet,
            overhead,
            least,
            propagation,
        }
    }

    /// How long a segment with `len` octets of data occupies the medium.
    #[must_use]
    #[inline]
    pub fn occupies(&self, len: u32) -> Duration {
        self.takes((u64::from(len) + self.overhead).max(self.least))
    }

    /// How long so many octets take.
    #[must_use]
    #[inline]
    pub fn takes(&self, octets: u64) -> Duration {
        Duration::from_nanos(octets.saturating_mul(self.picos_per_octet) / 1000)
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
}

/// What the medium has carried: the frames that arrive, after whatever befell them.
#[derive(Clone, Debug)]
pub struct Carried {
    arrivals: [Arrivals; 2],
    /// Frames that never arrive.
    pub lost: u64,
    impairment: Option<Impairment>,
}

/// The frames on their way to one host, ordered by the time of their arrival.
#[derive(Clone, Debug)]
struct Arrivals {
    queue: VecDeque<Frame>,
    /// When the first of them arrives; looked at far more often than it changes.
    first_at: Instant,
}

impl Carried {
    /// Nothing carried yet.
    #[must_use]
    pub fn new(impairment: Option<Impairment>) -> Self {
        let none = || Arrivals {
            queue: VecDeque::new(),
            first_at: Instant::FAR_FUTURE,
        };
        Self {
            arrivals: [none(), none()],
            lost: 0,
            impairment,
        }
    }

    /// When the next frame arrives at this host; `FAR_FUTURE` if none is on its way.
    #[inline]
    #[must_use]
    pub fn next_arrival(&self, side: Side) -> Instant {
        self.arrivals[side.index()].first_at
    }

    /// The next frame that arrives at this host.
    #[inline]
    pub fn first(&self, side: Side) -> Option<&Frame> {
        self.arrivals[side.index()].queue.front()
    }

    /// The next frame that arrives at this host has been taken in.
    #[inline]
    pub fn taken(&mut self, side: Side) {
        let arrivals = &mut self.arrivals[side.index()];
        arrivals.queue.pop_front();
        arrivals.first_at = arrivals
            .queue
            .front()
            .map_or(Instant::FAR_FUTURE, |frame| frame.at);
    }

    /// `frame` comes out of the medium at `frame.at`.
    #[inline]
    pub fn deliver(&mut self, to: Side, frame: Frame) {
        let arrivals = &mut self.arrivals[to.index()];
        arrivals.first_at = arrivals.first_at.min(frame.at);
        match &mut self.impairment {
            None => arrivals.queue.push_back(frame),
            Some(impairment) => {
                let fate = impairment.befall(frame);
                self.lost += u64::from(fate.frames().is_empty());
                arrivals.insert(fate.frames());
            }
        }
    }
}

impl Arrivals {
    /// Keeps the order; frames that arrive at the same time keep theirs.
    fn insert(&mut self, frames: &[Frame]) {
        for frame in frames {
            let place = self.queue.partition_point(|other| other.at <= frame.at);
            self.queue.insert(place, *frame);
        }
        self.first_at = self
            .queue
            .front()
            .map_or(Instant::FAR_FUTURE, |frame| frame.at);
    }
}
