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

/// Keeps every frame that arrived, as a third station on the cable stamps it: with the time at which
/// it had passed.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    /// In the order in which the hosts took them in.
    taken_in: Vec<(Side, Frame)>,
}

impl Tap {
    /// Who sent what, in the order in which it passed.
    #[must_use]
    pub fn passed(&self) -> Vec<(Side, Frame)> {
        let mut passed = self.taken_in.clone();
        passed.sort_by_key(|(_, frame)| frame.at);
        passed
    }
}

impl Observer for Tap {
    fn received(&mut self, _: Instant, to: Side, frame: &Frame) {
        self.taken_in.push((to.other(), *frame));
    }
}
