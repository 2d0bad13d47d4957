//! What was seen of conversations, to be played again.

use tinygram_whatif::prediction::Service;

pub(super) struct Seen {
    /// How many connections there are, and how many were recorded.
    pub(super) found: usize,
    pub(super) recorded: usize,
    /// Steps that were lost.
    pub(super) lost: u64,
    pub(super) seconds: f64,
    pub(super) services: Vec<Service>,
}
