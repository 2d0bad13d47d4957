//! The key of a connection.

use tinygram_wire::decode::Segment;
use tinygram_wire::endpoint::Endpoint;

/// The two ends of a connection, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    pub(crate) ends: [Endpoint; 2],
}

impl Ends {
    /// The ends of a segment's connection, and which of them sent it.
    #[inline]
    pub(crate) fn of(segment: &Segment) -> (Self, usize) {
        let (source, destination) = (segment.source, segment.destination);
        match source <= destination {
            true => (
                Self {
                    ends: [source, destination],
                },
                0,
            ),
            false => (
                Self {
                    ends: [destination, source],
                },
                1,
            ),
        }
    }
}
