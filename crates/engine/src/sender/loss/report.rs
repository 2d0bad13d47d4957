//! Acknowledgments as a sender with a scoreboard sees them.

use crate::offset::Offset;
use crate::options::SackBlocks;
use crate::time::Duration;

/// The effects of an acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Octets of data that left the send buffer.
    pub released: u64,
    /// Whether it acknowledged data, SYN or FIN.
    pub advanced: bool,
}

/// What an acknowledgment told a sender with a scoreboard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    pub(crate) ack: Offset,
    pub(crate) blocks: &'a SackBlocks,
    pub(crate) acked: Acked,
    /// How long ago the echoed timestamp was sent.
    pub(crate) echo_age: Option<Duration>,
    /// Whether it reports a mark that was not answered yet (RFC 3168).
    pub(crate) marked: bool,
}
