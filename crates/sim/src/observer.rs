//! Who watches a run: traces, captures and plots are made of what an observer is told.

use tinygram_engine::Instant;

use crate::medium::{Frame, Side};

/// Told of every frame. All methods may be left out.
pub trait Observer {
    /// `from`'s kernel hands `frame` to its device; it leaves at `frame.at` at the earliest.
    fn sent(&mut self, from: Side, frame: &Frame) {
        let _ = (from, frame);
    }

    /// `to`'s kernel takes `frame` in, which arrived at `frame.at`.
    fn received(&mut self, now: Instant, to: Side, frame: &Frame) {
        let _ = (now, to, frame);
    }
}

/// Nobody watches; costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {}

/// Keeps every frame that was sent, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Who sent what; the time is in the frame.
    pub sent: Vec<(Side, Frame)>,
}

impl Observer for Trace {
    fn sent(&mut self, from: Side, frame: &Frame) {
        self.sent.push((from, *frame));
    }
}

/// Keeps what a capture at one host sees: the frames that it hands to its device, and those that
/// arrive from the other host.
#[derive(Clone, Debug)]
pub struct Tap {
    at: Side,
    seen: Vec<Seen>,
}

/// A frame that a [`Tap`] saw.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Who sent it.
    pub from: Side,
    /// The frame; its time is when it left here, or arrived here.
    pub frame: Frame,
}

impl Tap {
    /// A tap at this host.
    #[must_use]
    pub fn at(at: Side) -> Self {
        let seen = Vec::new();
        Self { at, seen }
    }

    /// What it saw, in the order of time. (A host is told of an arrival when its processor gets to
    /// it, and a frame is handed over before it leaves.)
    #[must_use]
    pub fn into_seen(mut self) -> Vec<Seen> {
        self.seen.sort_by_key(|seen| seen.frame.at);
        self.seen
    }
}

impl Observer for Tap {
    fn sent(&mut self, from: Side, frame: &Frame) {
        if from == self.at {
            let frame = *frame;
            self.seen.push(Seen { from, frame });
        }
    }

    fn received(&mut self, _: Instant, to: Side, frame: &Frame) {
        if to == self.at {
            let (from, frame) = (to.other(), *frame);
            self.seen.push(Seen { from, frame });
        }
    }
}
