//! How much was looked at. "No stall" means little if nothing was.

use std::ops::AddAssign;

use serde::Serialize;

use crate::event::{Connection, Writer};

/// How much was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Connections. If both ends of one are on this host, each end counts.
    pub connections: u64,
    /// Writes that ended; `None` if the source does not see them.
    pub writes: Option<u64>,
    /// Segments, data and acknowledgments. The kernel source counts those sent; in packets both directions are seen.
    pub segments: u64,
    /// Messages of which it cannot be told whether a cork held them: they left as late as a sender's timer releases what is
    /// corked, and so does a program that pauses as long. The kernel source can tell, and counts none.
    pub timed: u64,
}

impl AddAssign for Seen {
    fn add_assign(&mut self, other: Self) {
        self.connections += other.connections;
        self.writes = match (self.writes, other.writes) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or(0) + two.unwrap_or(0)),
        };
        self.segments += other.segments;
        self.timed += other.timed;
    }
}

/// What was seen of one end of a connection; asked for by [`crate::kernel::SourceOptions::by_connection`].
#[derive(Clone, Debug)]
pub struct SeenEnd {
    /// The connection.
    pub connection: Connection,
    /// Who wrote first.
    pub writer: Writer,
    /// How much; nothing at the first write, which is told so that the process can be looked up while it
    /// runs.
    pub seen: Seen,
    /// The time, in nanoseconds since the epoch.
    pub at_ns: i64,
}
