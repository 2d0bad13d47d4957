//! The medium between the two hosts, and the impairments of the frames it carries.

mod ethernet;
mod fddi;
mod impairment;
mod kind;
mod point_to_point;

use std::collections::VecDeque;

use tinygram_engine::{Duration, Instant, Segment};

pub use ethernet::Ethernet;
pub use fddi::Fddi;
pub use impairment::{Impaired, Impairment, ImpairmentRules};
pub use kind::MediumKind;
pub use point_to_point::PointToPoint;

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Host 0: usually the client.
    Client,
    /// Host 1: usually the server.
    Server,
}

impl Side {
    /// Returns its index in arrays of two.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the other side.
    #[must_use]
    #[inline]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];
}

/// A segment on its way, with the socket it belongs to.
///
/// It is written once and stays in place until it has arrived; only its time changes.
#[derive(Clone, Copy, Debug)]
pub struct MediumFrame {
    /// The segment.
    pub segment: Segment,
    /// The socket's number; the same at both ends.
    pub socket: u32,
    /// The generation of that socket to which it belongs.
    pub generation: u32,
    /// When it is ready to leave; once carried, when it arrives.
    pub at: Instant,
}

/// The physical parameters of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Stored, because a division per frame would cost more than all other work of the medium.
    picos_per_octet: u64,
    overhead: u64,
    least: u64,
    /// The propagation time from one host to the other.
    pub propagation: Duration,
}

impl Wire {
    /// Returns a wire with this rate (at least 1 bit per second) and `overhead` octets around a
    /// segment's data (TCP, IP and link headers, trailer, preamble, gap). A frame takes at least
    /// `least` octets, gap and preamble included.
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

    /// Returns how long a segment with `len` octets of data occupies the medium.
    #[must_use]
    #[inline]
    pub fn occupies(&self, len: u32) -> Duration {
        self.takes((u64::from(len) + self.overhead).max(self.least))
    }

    /// Returns how long this many octets take.
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
    /// Records that frames were appended to those that wait. Each is ready no earlier than those
    /// before it.
    #[inline]
    pub fn enqueue(&mut self, from: Side, under_way: &mut UnderWay) {
        match self {
            Self::Ethernet(medium) => medium.enqueue(from, under_way),
            Self::Fddi(medium) => medium.enqueue(from, under_way),
            Self::PointToPoint(medium) => medium.enqueue(from, under_way),
        }
    }

    /// Returns when something happens on the medium; `FAR_FUTURE` if nothing is on its way.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Instant {
        match self {
            Self::Ethernet(medium) => medium.next_event(),
            Self::Fddi(medium) => medium.next_event(),
            Self::PointToPoint(_) => Instant::FAR_FUTURE,
        }
    }

    /// Carries out what is due at `now`.
    #[inline]
    pub fn run(&mut self, now: Instant, under_way: &mut UnderWay) {
        match self {
            Self::Ethernet(medium) => medium.run(now, under_way),
            Self::Fddi(medium) => medium.run(now, under_way),
            Self::PointToPoint(_) => {}
        }
    }

    /// Returns the physical parameters.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        match self {
            Self::Ethernet(medium) => medium.wire(),
            Self::Fddi(medium) => medium.wire(),
            Self::PointToPoint(medium) => medium.wire(),
        }
    }
}

/// The frames between the hosts: those that wait for the medium, and those that it has carried and
/// that will arrive, after any impairment.
#[derive(Clone, Debug)]
pub struct UnderWay {
    directions: [Direction; 2],
    /// Frames that never arrive.
    pub lost: u64,
    impairment: Option<Impaired>,
}

/// The frames from one host to the other.
#[derive(Clone, Debug)]
struct Direction {
    /// First the frames that were carried, in the order of their arrival, then those that wait.
    frames: VecDeque<MediumFrame>,
    /// How many were carried.
    carried: usize,
    /// When the first of them arrives; read far more often than it changes.
    first_at: Instant,
}

impl UnderWay {
    /// Returns an empty set of frames.
    #[must_use]
    pub fn new(impairment: Option<Impaired>) -> Self {
        let none = || Direction {
            frames: VecDeque::new(),
            carried: 0,
            first_at: Instant::FAR_FUTURE,
        };
        Self {
            directions: [none(), none()],
            lost: 0,
            impairment,
        }
    }

    /// Returns when the next frame arrives at this host; `FAR_FUTURE` if none is on its way.
    #[inline]
    #[must_use]
    pub fn next_arrival(&self, at: Side) -> Instant {
        self.directions[at.other().index()].first_at
    }

    /// Returns the next frame that arrives at this host.
    #[inline]
    pub fn first(&self, at: Side) -> Option<&MediumFrame> {
        self.directions[at.other().index()].frames.front()
    }

    /// Removes the next frame that arrives at this host, which has been taken in.
    #[inline]
    pub fn taken(&mut self, at: Side) {
        let direction = &mut self.directions[at.other().index()];
        direction.frames.pop_front();
        direction.carried -= 1;
        direction.note_first();
    }

    /// Appends `frame` to those that wait for the medium.
    #[inline]
    pub fn wait(&mut self, from: Side, frame: MediumFrame) -> &MediumFrame {
        let frames = &mut self.directions[from.index()].frames;
        frames.push_back(frame);
        &frames[frames.len() - 1]
    }

    /// Returns the first frame from this host that waits for the medium.
    #[inline]
    fn waiting(&self, from: Side) -> Option<&MediumFrame> {
        let direction = &self.directions[from.index()];
        direction.frames.get(direction.carried)
    }

    /// Carries the first waiting frame from this host, which leaves the medium at `at`.
    #[inline]
    fn deliver(&mut self, from: Side, at: Instant) {
        if self.impairment.is_none() {
            self.directions[from.index()].carry(at);
        } else {
            self.deliver_or_not(from, at);
        }
    }

    /// Carries the frame with the impairments.
    #[inline(never)]
    fn deliver_or_not(&mut self, from: Side, at: Instant) {
        let direction = &mut self.directions[from.index()];
        let Some(impairment) = &mut self.impairment else {
            return;
        };
        if let Some(mut frame) = direction.frames.remove(direction.carried) {
            frame.at = at;
            let fate = impairment.befall(frame);
            self.lost += u64::from(fate.frames().is_empty());
            direction.insert(fate.frames());
        }
    }

    /// Drops the first waiting frame from this host.
    fn drop_waiting(&mut self, from: Side) {
        let direction = &mut self.directions[from.index()];
        direction.frames.remove(direction.carried);
    }
}

impl Direction {
    /// Moves the first waiting frame to those that were carried; it arrives at `at`.
    #[inline]
    fn carry(&mut self, at: Instant) {
        if let Some(frame) = self.frames.get_mut(self.carried) {
            frame.at = at;
            self.carried += 1;
            self.first_at = self.first_at.min(at);
        }
    }

    /// Inserts frames in the order of arrival; frames that arrive at the same time keep their
    /// order.
    fn insert(&mut self, frames: &[MediumFrame]) {
        for frame in frames {
            let earlier = |place: &usize| self.frames[*place].at <= frame.at;
            let before = (0..self.carried).rev().find(earlier);
            self.frames
                .insert(before.map_or(0, |place| place + 1), *frame);
            self.carried += 1;
        }
        self.note_first();
    }

    #[inline]
    fn note_first(&mut self) {
        self.first_at = match self.frames.front() {
            Some(frame) if self.carried > 0 => frame.at,
            _ => Instant::FAR_FUTURE,
        };
    }
}
