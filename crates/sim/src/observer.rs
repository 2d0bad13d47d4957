//! Observers of a run. Traces, captures and plots are made from what an observer is told.

mod holds;

use tinygram_engine::Instant;

use crate::host::Socket;
use crate::medium::{MediumFrame, Side};

pub use holds::{Held, Holds, OfReason};

/// Is told of every frame and every job. Every method has a default that does nothing.
pub trait Observer {
    /// Is called when `from`'s kernel hands `frame` to its device; it leaves at `frame.at` at the
    /// earliest.
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        let _ = (from, frame);
    }

    /// Is called when `to`'s kernel takes in `frame`, which arrived at `frame.at`.
    fn received(&mut self, now: Instant, to: Side, frame: &MediumFrame) {
        let _ = (now, to, frame);
    }

    /// Is called when `side`'s processor has done a job. It is free again at `at`, and nothing
    /// changes until then.
    fn ran(&mut self, at: Instant, side: Side, sockets: &[Socket]) {
        let _ = (at, side, sockets);
    }
}

/// An observer that does nothing and costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {}

/// Keeps every frame that was sent, in order.
#[derive(Clone, Debug, Default)]
pub struct SentFrames {
    /// Each frame with its sender; the time is in the frame.
    pub sent: Vec<(Side, MediumFrame)>,
}

impl Observer for SentFrames {
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        self.sent.push((from, *frame));
    }
}

/// Keeps what a capture sees. At one of the hosts, that is the frames that it hands to its device
/// and those that arrive. By default the tap is a third station on the cable and sees every frame
/// that arrives anywhere, at the time when it had passed.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    /// The host; `None` for the cable.
    at: Option<Side>,
    /// Frames in the order in which the hosts reported them.
    seen: Vec<(Side, MediumFrame)>,
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

    /// Returns the frames with their senders, in the order in which they passed; the time is in the
    /// frame. (The tap learns of an arrival when the host's processor handles it, and of a leaving
    /// frame before it leaves.)
    #[must_use]
    pub fn passed(&self) -> Vec<(Side, MediumFrame)> {
        let mut passed = self.seen.clone();
        passed.sort_by_key(|(_, frame)| frame.at);
        passed
    }
}

impl Observer for Tap {
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        if self.at == Some(from) {
            self.seen.push((from, *frame));
        }
    }

    fn received(&mut self, _: Instant, to: Side, frame: &MediumFrame) {
        if self.at.is_none_or(|host| host == to) {
            self.seen.push((to.other(), *frame));
        }
    }
}
