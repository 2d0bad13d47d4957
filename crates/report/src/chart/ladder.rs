//! A ladder: the segments of an exchange, one beneath the other in the order of time.

use serde::Serialize;

/// An exchange between two ends, segment by segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ladder {
    /// A line about the exchange: `slowest: 13,141 bytes in 204.1 ms, delayed`.
    pub title: String,
    /// The names of the left end and of the right end.
    pub ends: [String; 2],
    /// The segments, in the order of time.
    pub steps: Vec<Step>,
}

/// A segment, as it passed the observer.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The time since the exchange began, in milliseconds.
    pub at_ms: f64,
    /// Its sender.
    pub by: By,
    /// Its contents: `seq 1:1461, length 1460`.
    pub text: String,
}

/// The sender of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The end on the right.
    Right,
    /// The end on the left.
    Left,
    /// Nobody: the step stands for segments that are left out, and tells how many.
    LeftOut,
}

/// Serialises as a list, which is shorter than an object on a page with hundreds of steps.
impl Serialize for Step {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = (self.at_ms * 1e3).round() / 1e3;
        (rounded, self.by as u8, &self.text).serialize(serializer)
    }
}
