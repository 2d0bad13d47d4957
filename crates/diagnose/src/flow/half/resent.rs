//! A segment that its sender sent again: lost, or acknowledged later than the sender's timer waits.

use crate::flow::mark::Mark;

/// A segment alone in flight, sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resent {
    pub(crate) mark: Mark,
    /// Since it was sent first, in nanoseconds.
    pub(crate) after_ns: i64,
    /// The receiver has said that it had it before (RFC 2883).
    pub(crate) needlessly: bool,
}
