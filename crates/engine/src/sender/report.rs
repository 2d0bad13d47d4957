//! What arrives at a sender that keeps a scoreboard.

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
    /// It tells of a mark that nothing was done about yet (RFC 3168).
    pub(super) marked: bool,
}
