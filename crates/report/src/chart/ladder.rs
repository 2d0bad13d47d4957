//! A ladder: who sent what to whom, beneath each other in the order of time.

use serde::Serialize;

/// An exchange between two ends, segment by segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ladder {
    /// What it is of, in a line: `slowest: 13,141 bytes in 204.1 ms, delayed`.
    pub title: String,
    /// Who stands on the left, and who on the right.
    pub ends: [String; 2],
    /// In the order of time.
    pub steps: Vec<Step>,
}

/// A segment, as whoever watched saw it pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Since the exchange began, in milliseconds.
    pub at_ms: f64,
    /// Who sent it.
    pub by: By,
    /// What it says: `seq 1:1461, length 1460`.
    pub text: String,
}

/// Who sent a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The end on the right.
    Right,
    /// The end on the left.
    Left,
    /// Nobody: the step stands for segments that are left out, and says how many.
    LeftOut,
}

/// As a list, which is shorter than names on a page with hundreds of them.
impl Serialize for Step {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = (self.at_ms * 1e3).round() / 1e3;
        (rounded, self.by as u8, &self.text).serialize(serializer)
    }
}
