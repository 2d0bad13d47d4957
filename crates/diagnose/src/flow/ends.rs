//! The key of a connection.

use std::hint::select_unpredictable;

use tinygram_wire::endpoint::Endpoint;

/// The two ends of a connection, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ends {
    pub(crate) ends: [Endpoint; 2],
}

impl Ends {
    /// Returns the ends of a connection, and which of them is the `source`.
    #[inline]
    pub(crate) fn between(source: Endpoint, destination: Endpoint) -> (Self, usize) {
        let from = usize::from(source > destination);
        let ends = [
            either(from == 0, source, destination),
            either(from == 1, source, destination),
        ];
        (Self { ends }, from)
    }
}

/// Returns one of two ends. Which of them sent cannot be predicted, so there is no branch. The ends are not copied as a
/// whole: a processor waits where something was written in parts shortly before.
#[inline]
fn either(first: bool, a: Endpoint, b: Endpoint) -> Endpoint {
    Endpoint {
        high: select_unpredictable(first, a.high, b.high),
        low: select_unpredictable(first, a.low, b.low),
        port: select_unpredictable(first, a.port, b.port),
    }
}
