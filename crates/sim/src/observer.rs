//! Who watches a run: traces, captures and plots are made of what an observer is told.

use tinygram_engine::Instant;

use crate::host::Socket;
use crate::medium::{Frame, Side};

/// Told of every frame and every job. All methods may be left out.
pub trait Observer {
    /// `from`'s kernel hands `frame` to its device; it leaves at `frame.at` at the earliest.
    fn sent(&mut self, from: Side, frame: &Frame) {
        let _ = (from, frame);
    }

    /// `to`'s kernel takes `frame` in, which arrived at `frame.at`.
    fn received(&mut self, now: Instant, to: Side, frame: &Frame) {
        let _ = (now, to, frame);
    }

    /// `side`'s processor has done a job; it is free again at `at`, and until then nothing changes.
    fn ran(&mut self, at: Instant, side: Side, sockets: &[Socket]) {
        let _ = (at, side, sockets);
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

/// Keeps what a capture sees: at one of the hosts the frames that it hands to its device and those that
/// arrive; by default, as a third station on the cable, every frame that arrives anywhere, with the
/// time at which it had passed.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    /// The host; the cable if absent.
    at: Option<Side>,
    /// In the order in which the hosts told of them.
    seen: Vec<(Side, Frame)>,
}

impl Tap {
    /// Returns a tap at this host.
    #[must_use]
    pub fn at(host: Side) -> Self {
        Self {
            at: Some(host),
            seen: Vec::new(),
        }
    }

    /// Returns how many frames it has seen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Returns whether it has seen none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Who sent what, in the order in which it passed; the time is in the frame. (A host is told of an
    /// arrival when its processor gets to it, and of a frame before it leaves.)
    #[must_use]
    pub fn passed(&self) -> Vec<(Side, Frame)> {
        let mut passed = self.seen.clone();
        passed.sort_by_key(|(_, frame)| frame.at);
        passed
    }
}

impl Observer for Tap {
    fn sent(&mut self, from: Side, frame: &Frame) {
        if self.at == Some(from) {
            self.seen.push((from, *frame));
        }
    }

    fn received(&mut self, _: Instant, to: Side, frame: &Frame) {
        if self.at.is_none_or(|host| host == to) {
            self.seen.push((to.other(), *frame));
        }
    }
}
