//! What a change would do to the connections of a target: what their programs do is [recorded](recording) for a while
//! and handed to [`tinygram_whatif`], which plays it again.

mod assemble;
pub mod recording;

pub use assemble::Wanted;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tinygram_host::hand::Socket;
use tinygram_host::recorder::Step;

/// Connections that were recorded.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Each with what was seen at its ends.
    pub connections: Vec<RecordedConnection>,
    /// How many connections the target has.
    pub found: usize,
    /// How many steps found no room.
    pub lost: u64,
    /// How long it was looked, in seconds.
    pub seconds: f64,
    /// By network namespace, its `tcp_pingpong_thresh`; absent if the kernel has none.
    pub pingpong: BTreeMap<u32, u8>,
}

/// A recorded connection.
#[derive(Clone, Debug)]
pub struct RecordedConnection {
    /// The end that opened it, if it was seen, and the end that accepted it.
    pub ends: [Option<RecordedEnd>; 2],
    /// The end that accepted it.
    pub server: SocketAddr,
}

/// What was seen at one end.
#[derive(Clone, Debug)]
pub struct RecordedEnd {
    /// The socket as it was found.
    pub socket: Socket,
    /// Whether the target means it.
    pub is_meant: bool,
    /// What happened, in the order of time.
    pub steps: Vec<Step>,
}
