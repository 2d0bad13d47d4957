//! Acknowledgments as a sender with a scoreboard sees them.

use super::Acked;
use crate::offset::Offset;
use crate::options::SackBlocks;
use crate::time::Duration;

/// What an acknowledgment told a sender with a scoreboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report<'a> {
    pub(super) ack: Offset,
    pub(super) blocks: &'a SackBlocks,
    pub(super) acked: Acked,
    /// How long ago the echoed timestamp was sent.
    pub(super) echo_age: Option<Duration>,
    /// Whether it reports a mark that was not answered yet (RFC 3168).
    pub(super) marked: bool,
}
