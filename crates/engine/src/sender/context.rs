//! What the parts of a sender read of each other and cannot change.

use super::rtt::RttEstimator;
use super::sequence::Sequence;
use crate::time::Instant;

/// What most parts read.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) now: Instant,
    pub(super) seq: &'a Sequence,
    /// The largest data in a segment, in octets.
    pub(super) mss: u32,
    pub(super) rtt: &'a RttEstimator,
}
