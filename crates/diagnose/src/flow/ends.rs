//! The key of a connection.

use tinygram_wire::decode::Segment;
use tinygram_wire::endpoint::Endpoint;

/// The two ends of a connection, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    pub(crate) ends: [Endpoint; 2],
}

impl Ends {
    /// Returns the ends of a segment's connection, and which of them sent it.
    #[inline]
    pub(crate) fn of(segment: &Segment) -> (Self, usize) {
        Self::between(segment.source, segment.destination)
    }

    /// Returns the ends of a connection, and which of them is the `source`.
    #[inline]
    pub(crate) fn between(source: Endpoint, destination: Endpoint) -> (Self, usize) {
        let (ends, from) = match source <= destination {
            true => ([source, destination], 0),
            false => ([destination, source], 1),
        };
        (Self { ends }, from)
    }
}
